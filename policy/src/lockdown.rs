// SPDX-License-Identifier: Apache-2.0
//! What this process gives up before it reads anything: memory, time, descriptors, and every system call it does not need.

use libc::*;

const ADDRESS_BYTES: rlim_t = 256 << 20;
const CPU_SECONDS: rlim_t = 2;

/// Memory, streams and those that are handed in, the clock, and the end. No call here opens, connects, starts or signals anything; any other one ends the
/// process, so that one which runs out of memory or stack is gone at once instead of explaining itself.
const CALLS: &[c_long] = &[
    SYS_read, SYS_write, SYS_recvmsg, SYS_close, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex,
    SYS_clock_gettime, SYS_getrandom, SYS_sched_yield, SYS_sigaltstack, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_getpid, SYS_gettid, SYS_exit, SYS_exit_group,
];

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

fn check(result: c_int) -> Result<(), ()> {
    if result < 0 { Err(()) } else { Ok(()) }
}

fn limit(resource: __rlimit_resource_t, most: rlim_t) -> Result<(), ()> {
    let mut value = rlimit { rlim_cur: 0, rlim_max: 0 };

    // SAFETY: the structure lives until the calls return.
    unsafe {
        check(getrlimit(resource, &mut value))?;
        // A lower limit of the caller's stays.
        value.rlim_max = value.rlim_max.min(most);
        value.rlim_cur = value.rlim_max;
        check(setrlimit(resource, &value))
    }
}

/// Loads from `struct seccomp_data`: the number of the call at 0, the architecture at 4.
fn filter() -> Vec<sock_filter> {
    let load = |at| sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: at };
    let equal = |k, jt, jf| sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt, jf, k };
    let give = |k| sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k };
    let mut program = vec![load(4), equal(ARCH, 1, 0), give(SECCOMP_RET_KILL_PROCESS), load(0)];

    for &call in CALLS {
        program.push(equal(call as u32, 0, 1));
        program.push(give(SECCOMP_RET_ALLOW));
    }
    program.push(give(SECCOMP_RET_KILL_PROCESS));
    program
}

pub fn enter() -> Result<(), ()> {
    let mut program = filter();
    let load = sock_fprog { len: program.len() as c_ushort, filter: program.as_mut_ptr() };

    // SAFETY: plain calls; `program` outlives the one that reads it.
    unsafe {
        check(prctl(PR_SET_PDEATHSIG, SIGKILL))?;
        check(prctl(PR_SET_DUMPABLE, 0))?;
        check(syscall(SYS_close_range, 3u32, u32::MAX, 0u32) as c_int)?;
        limit(RLIMIT_CORE, 0)?;
        limit(RLIMIT_FSIZE, 0)?;
        limit(RLIMIT_AS, ADDRESS_BYTES)?;
        limit(RLIMIT_CPU, CPU_SECONDS)?;
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &load as *const sock_fprog))
    }
}
