/* SPDX-License-Identifier: MIT */
/* fields.h - descriptions of fields that PmuGetFieldExp() returned. */
#ifndef KPERF_FIELDS_H
#define KPERF_FIELDS_H

struct kp_field;
void kp_fields_free(struct kp_field *fields);

#endif
