/* SPDX-License-Identifier: MIT */
/*
 * Types as a kernel has them. fetch_types_btf.h has what clang 14 says of them:
 *	clang -g -O1 -target bpf -include fetch_types.h -c -x c /dev/null -o types.o
 *	llvm-objcopy --dump-section .BTF=types.btf types.o
 */
#pragma once

struct qstr {
	unsigned hash;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct path {
	void *mnt;
	struct dentry *dentry;
};

enum kind { KIND_NONE, KIND_FILE };

typedef unsigned short port_type;

struct inner {
	long list;
	int value;
};

struct opened {
	char comm[16];
	struct path f_path;
	union {
		struct {
			port_type port, other;
		};
		unsigned long both;
	};
	unsigned low : 3, wide : 13, apart : 20;
	signed char small;
	enum kind kind;
	_Bool is_on;
	int numbers[4];
	struct inner inner;
	struct inner *many[2];
	struct inner row[3];
	unsigned long long big;
	void (*call)(void);
};

#ifdef __bpf__
int vfs_open(const struct path *path, struct opened *file, long flags);
struct opened *get_file(struct inner *inner);
const unsigned char *name_of(const struct dentry *dentry);

int vfs_open(const struct path *path, struct opened *file, long flags)
{
	return !path->mnt && file->low && flags;
}

const unsigned char *name_of(const struct dentry *dentry)
{
	return dentry->d_parent->d_name.name;
}

struct opened *get_file(struct inner *inner)
{
	return (struct opened *)inner;
}
#endif
