// SPDX-License-Identifier: Apache-2.0
//! Where a kept evaluator gets its askers from: each sends its end of a stream, as a descriptor, through descriptor 0.

use libc::*;
use std::fs::File;
use std::os::fd::FromRawFd;

/// Room for one descriptor with its head, aligned as that has to be.
#[repr(align(8))]
struct Room([u8; 64]);

/// The next asker's stream; None when nobody is left who could ask, or something else came.
pub fn next() -> Option<File> {
    let mut byte = [0u8; 1];
    let mut room = Room([0; 64]);
    let mut bytes = iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
    // SAFETY: all of it is numbers and pointers, for which zero is a value.
    let mut message: msghdr = unsafe { std::mem::zeroed() };

    message.msg_iov = &mut bytes;
    message.msg_iovlen = 1;
    message.msg_control = room.0.as_mut_ptr().cast();
    // SAFETY: the macro counts. Exactly one descriptor fits.
    message.msg_controllen = unsafe { CMSG_SPACE(size_of::<c_int>() as u32) } as _;
    // SAFETY: what the structures point to lives until the call returns; the header is looked at only where one came, and
    // the descriptor in it belongs to nobody else.
    unsafe {
        if recvmsg(0, &mut message, MSG_CMSG_CLOEXEC) != 1 {
            return None;
        }
        let head = CMSG_FIRSTHDR(&message);

        if head.is_null() || (*head).cmsg_level != SOL_SOCKET || (*head).cmsg_type != SCM_RIGHTS {
            return None;
        }
        Some(File::from_raw_fd(CMSG_DATA(head).cast::<c_int>().read_unaligned()))
    }
}
