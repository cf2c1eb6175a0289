/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of IPv4 and IPv6 as text: the same in every program, whatever its C library. */
#ifndef BASE_IP_TEXT_H
#define BASE_IP_TEXT_H

#include <stdint.h>

#define IP_TEXT_SIZE 46

void ip_text_v4(const uint8_t bytes[static 4], char out[static IP_TEXT_SIZE]);

/* As glibc has it: of the longest runs of zeros the first becomes "::", and what IPv4 is in is written as that. */
void ip_text_v6(const uint8_t bytes[static 16], char out[static IP_TEXT_SIZE]);

#endif
