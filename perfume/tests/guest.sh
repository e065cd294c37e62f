#!/bin/sh
# SPDX-License-Identifier: CC0-1.0
# Runs test programs one after another, in one boot of a guest; the status is the worst of them.
worst=0
for program; do
	"$program"
	status=$?
	[ "$status" -le "$worst" ] || worst=$status
done
exit "$worst"
