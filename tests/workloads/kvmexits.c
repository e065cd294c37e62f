/* SPDX-License-Identifier: MIT */
/*
 * Expected: a KVM guest of one virtual CPU in real mode writes to an I/O port IO times (1000), to
 * one byte in each of PAGES pages (100) and to MMIO addresses without memory (10) times, and then
 * executes HLT. Each is at least an exit: IO exits for I/O, PAGES + MMIO and some for missing
 * pages, one for HLT. The program sleeps for 20 ms after each of the first SLEEPS (0) I/O exits.
 * usage: kvmexits [IO [PAGES [MMIO [SLEEPS]]]]; all but SLEEPS at most 65535, PAGES at most 128
 */
#include "workload.h"

#ifdef __x86_64__
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

/* Memory up to the graphics memory of a PC, 0xa0000; code at 0x1000, written pages from 0x10000. */
enum { MEMORY = 0xa0000, CODE = 0x1000 };
enum { IO_AT = 1, PAGES_AT = 12, MMIO_AT = 31 }; /* of the numbers in code */

static const uint8_t code[] = {
	0xb9, 0, 0,             /* mov cx, IO */
	0xe3, 6,                /* jcxz to the next mov cx */
	0xba, 0xf8, 0x03,       /* mov dx, 0x3f8 */
	0xee,                   /* out dx, al */
	0xe2, 0xfd,             /* loop to out */
	0xb9, 0, 0,             /* mov cx, PAGES */
	0xb8, 0x00, 0x10,       /* mov ax, 0x1000 */
	0xe3, 11,               /* jcxz to the next mov cx */
	0x8e, 0xc0,             /* mov es, ax */
	0x26, 0xa2, 0x00, 0x00, /* mov es:[0], al */
	0x05, 0x00, 0x01,       /* add ax, 0x100 */
	0xe2, 0xf5,             /* loop to mov es */
	0xb9, 0, 0,             /* mov cx, MMIO */
	0xb8, 0x00, 0xb8,       /* mov ax, 0xb800 */
	0xe3, 8,                /* jcxz to hlt */
	0x8e, 0xc0,             /* mov es, ax */
	0x26, 0xa2, 0x00, 0x00, /* mov es:[0], al */
	0xe2, 0xfa,             /* loop to mov es:[0] */
	0xf4,                   /* hlt */
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int control(int fd, unsigned long request, void *arg)
{
	int r = ioctl(fd, request, arg);

	if (r < 0)
		fail("ioctl");
	return r;
}

static uint8_t *make_memory(int vm)
{
	uint8_t *memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region region = {
		.memory_size = MEMORY, .userspace_addr = (uintptr_t)memory};

	if (memory == MAP_FAILED)
		fail("mmap");
	control(vm, KVM_SET_USER_MEMORY_REGION, &region);
	return memory;
}

static void load_code(uint8_t *at, uint64_t io, uint64_t pages, uint64_t mmio)
{
	memcpy(at, code, sizeof(code));
	memcpy(at + IO_AT, &io, 2);
	memcpy(at + PAGES_AT, &pages, 2);
	memcpy(at + MMIO_AT, &mmio, 2);
}

static void set_registers(int vcpu)
{
	struct kvm_regs registers = {.rip = CODE, .rflags = 2};
	struct kvm_sregs special;

	control(vcpu, KVM_GET_SREGS, &special);
	special.cs.base = special.cs.selector = 0;
	control(vcpu, KVM_SET_SREGS, &special);
	control(vcpu, KVM_SET_REGS, &registers);
}

int main(int argc, char **argv)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	uint64_t sleeps = argument(argc, argv, 4, 0), io = 0, mmio = 0;
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm, vcpu;
	struct kvm_run *run;

	if (kvm < 0)
		fail("/dev/kvm");
	vm = control(kvm, KVM_CREATE_VM, NULL);
	load_code(make_memory(vm) + CODE, argument(argc, argv, 1, 1000),
		argument(argc, argv, 2, 100), argument(argc, argv, 3, 10));
	vcpu = control(vm, KVM_CREATE_VCPU, NULL);
	run = mmap(NULL, (size_t)control(kvm, KVM_GET_VCPU_MMAP_SIZE, NULL), PROT_READ | PROT_WRITE,
		MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		fail("mmap");
	set_registers(vcpu);
	for (;;) {
		control(vcpu, KVM_RUN, NULL);
		if (run->exit_reason == KVM_EXIT_HLT)
			break;
		io += run->exit_reason == KVM_EXIT_IO;
		mmio += run->exit_reason == KVM_EXIT_MMIO;
		if (run->exit_reason != KVM_EXIT_IO && run->exit_reason != KVM_EXIT_MMIO) {
			fprintf(stderr, "unexpected exit %u\n", run->exit_reason);
			return 1;
		}
		if (run->exit_reason == KVM_EXIT_IO && io <= sleeps)
			nanosleep(&nap, NULL);
	}
	printf("io %llu mmio %llu\n", (unsigned long long)io, (unsigned long long)mmio);
	return 0;
}
#else
int main(void)
{
	fputs("kvmexits needs an x86-64 CPU\n", stderr);
	return 1;
}
#endif
