/* SPDX-License-Identifier: MIT */
/* Names of flags of files, descriptors and their events. */
#include <stdbool.h>

#include "calls/names.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/memfd.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "calls/names_table.h"

/* include/uapi/asm-generic/fcntl.h; glibc has no O_LARGEFILE on 64-bit machines. */
#ifdef __x86_64__
enum { LARGEFILE = 0100000 };
#else
enum { LARGEFILE = 0400000 };
#endif
static const struct calls_value open_values[] = {V(O_RDONLY), V(O_WRONLY), V(O_RDWR),
	{3, "O_ACCMODE"}, V(O_CREAT), V(O_EXCL), V(O_NOCTTY), V(O_TRUNC), V(O_APPEND),
	V(O_NONBLOCK), V(O_SYNC), V(O_DSYNC), V(O_DIRECT), {LARGEFILE, "O_LARGEFILE"},
	V(O_NOFOLLOW), V(O_NOATIME), V(O_CLOEXEC), V(O_PATH), V(O_TMPFILE), V(O_DIRECTORY),
	V(FASYNC)};
CALLS_FLAGS_WITH(open, O_ACCMODE, "O_???");

/* access(2), include/uapi/linux/fcntl.h */
static const struct calls_value access_values[] = {V(F_OK), V(R_OK), V(W_OK), V(X_OK)};
CALLS_FLAGS(access, "?_OK");

static const struct calls_value at_values[] = {V(AT_SYMLINK_NOFOLLOW), V(AT_SYMLINK_FOLLOW),
	V(AT_NO_AUTOMOUNT), V(AT_EMPTY_PATH), {0x8000, "AT_RECURSIVE"}};
CALLS_FLAGS(at, "AT_???");

/* faccessat2(2): the bit is AT_REMOVEDIR for unlinkat(2) */
static const struct calls_value access_at_values[] = {
	V(AT_SYMLINK_NOFOLLOW), V(AT_EACCESS), V(AT_EMPTY_PATH)};
CALLS_FLAGS(access_at, "AT_???");

static const struct calls_value unlink_values[] = {V(AT_REMOVEDIR)};
CALLS_FLAGS(unlink, "AT_???");

/* statx(2), include/uapi/linux/stat.h */
static const struct calls_value statx_values[] = {V(AT_STATX_SYNC_AS_STAT), V(AT_STATX_FORCE_SYNC),
	V(AT_STATX_DONT_SYNC), V(AT_SYMLINK_NOFOLLOW), V(AT_SYMLINK_FOLLOW), V(AT_NO_AUTOMOUNT),
	V(AT_EMPTY_PATH)};
CALLS_FLAGS_WITH(statx, AT_STATX_SYNC_TYPE, "AT_???");

static const struct calls_value statx_mask_values[] = {V(STATX_ALL), V(STATX_BASIC_STATS),
	V(STATX_TYPE), V(STATX_MODE), V(STATX_NLINK), V(STATX_UID), V(STATX_GID), V(STATX_ATIME),
	V(STATX_MTIME), V(STATX_CTIME), V(STATX_INO), V(STATX_SIZE), V(STATX_BLOCKS),
	V(STATX_BTIME), {0x1000, "STATX_MNT_ID"}, {0x2000, "STATX_DIOALIGN"},
	{0x4000, "STATX_MNT_ID_UNIQUE"}, {0x8000, "STATX_SUBVOL"}};
CALLS_FLAGS(statx_mask, "STATX_???");

/* inode(7) */
static const struct calls_value mode_type_values[] = {
	V(S_IFREG), V(S_IFSOCK), V(S_IFIFO), V(S_IFLNK), V(S_IFDIR), V(S_IFBLK), V(S_IFCHR)};
CALLS_ONE(mode_type, NULL);

/* fcntl(2), include/uapi/asm-generic/fcntl.h and include/uapi/linux/fcntl.h */
static const struct calls_value fcntl_values[] = {V(F_DUPFD), V(F_GETFD), V(F_SETFD), V(F_GETFL),
	V(F_SETFL), {5, "F_GETLK"}, {6, "F_SETLK"}, {7, "F_SETLKW"}, V(F_SETOWN), V(F_GETOWN),
	V(F_SETSIG), V(F_GETSIG), V(F_SETOWN_EX), V(F_GETOWN_EX), V(F_OFD_GETLK), V(F_OFD_SETLK),
	V(F_OFD_SETLKW), V(F_SETLEASE), V(F_GETLEASE), V(F_NOTIFY), V(F_DUPFD_CLOEXEC),
	V(F_SETPIPE_SZ), V(F_GETPIPE_SZ), V(F_ADD_SEALS), V(F_GET_SEALS), V(F_GET_RW_HINT),
	V(F_SET_RW_HINT), V(F_GET_FILE_RW_HINT), V(F_SET_FILE_RW_HINT)};
CALLS_ONE(fcntl, "F_???");

static const struct calls_value descriptor_values[] = {V(FD_CLOEXEC)};
CALLS_FLAGS(descriptor, NULL);

static const struct calls_value dup_values[] = {V(O_CLOEXEC)};
CALLS_FLAGS(dup, "O_???");

static const struct calls_value pipe_values[] = {V(O_NONBLOCK), V(O_DIRECT), V(O_CLOEXEC)};
CALLS_FLAGS(pipe, "O_???");

/* lseek(2) */
static const struct calls_value seek_values[] = {
	V(SEEK_SET), V(SEEK_CUR), V(SEEK_END), V(SEEK_DATA), V(SEEK_HOLE)};
CALLS_ONE(seek, "SEEK_???");

static const struct calls_value flock_values[] = {V(LOCK_SH), V(LOCK_EX), V(LOCK_UN), V(LOCK_NB)};
CALLS_FLAGS(flock, "LOCK_???");

static const struct calls_value lock_values[] = {V(F_RDLCK), V(F_WRLCK), V(F_UNLCK)};
CALLS_ONE(lock, "F_???");

static const struct calls_value rename_values[] = {
	V(RENAME_NOREPLACE), V(RENAME_EXCHANGE), V(RENAME_WHITEOUT)};
CALLS_FLAGS(rename, "RENAME_???");

/* include/uapi/linux/falloc.h */
static const struct calls_value fallocate_values[] = {V(FALLOC_FL_KEEP_SIZE),
	V(FALLOC_FL_PUNCH_HOLE), V(FALLOC_FL_NO_HIDE_STALE), V(FALLOC_FL_COLLAPSE_RANGE),
	V(FALLOC_FL_ZERO_RANGE), V(FALLOC_FL_INSERT_RANGE), V(FALLOC_FL_UNSHARE_RANGE)};
CALLS_FLAGS(fallocate, "FALLOC_FL_???");

/* posix_fadvise(2) */
static const struct calls_value fadvise_values[] = {V(POSIX_FADV_NORMAL), V(POSIX_FADV_RANDOM),
	V(POSIX_FADV_SEQUENTIAL), V(POSIX_FADV_WILLNEED), V(POSIX_FADV_DONTNEED),
	V(POSIX_FADV_NOREUSE)};
CALLS_ONE(fadvise, "POSIX_FADV_???");

/* include/uapi/linux/close_range.h */
static const struct calls_value close_range_values[] = {
	V(CLOSE_RANGE_UNSHARE), V(CLOSE_RANGE_CLOEXEC)};
CALLS_FLAGS(close_range, "CLOSE_RANGE_???");

/* copy_file_range(2): there are none yet */
static const struct calls_value copy_range_values[] = {{1, "COPY_FILE_SPLICE"}};
CALLS_FLAGS(copy_range, NULL);

static const struct calls_value splice_values[] = {
	V(SPLICE_F_MOVE), V(SPLICE_F_NONBLOCK), V(SPLICE_F_MORE), V(SPLICE_F_GIFT)};
CALLS_FLAGS(splice, "SPLICE_F_???");

static const struct calls_value sync_range_values[] = {
	V(SYNC_FILE_RANGE_WAIT_BEFORE), V(SYNC_FILE_RANGE_WRITE), V(SYNC_FILE_RANGE_WAIT_AFTER)};
CALLS_FLAGS(sync_range, "SYNC_FILE_RANGE_???");

/* preadv2(2), include/uapi/linux/fs.h */
static const struct calls_value rw_values[] = {
	V(RWF_HIPRI), V(RWF_DSYNC), V(RWF_SYNC), V(RWF_NOWAIT), V(RWF_APPEND)};
CALLS_FLAGS(rw, "RWF_???");

static const struct calls_value xattr_values[] = {V(XATTR_CREATE), V(XATTR_REPLACE)};
CALLS_FLAGS(xattr, "XATTR_???");

/* mount(2), umount(2), include/uapi/linux/mount.h */
static const struct calls_value mount_values[] = {V(MS_RDONLY), V(MS_NOSUID), V(MS_NODEV),
	V(MS_NOEXEC), V(MS_SYNCHRONOUS), V(MS_REMOUNT), V(MS_MANDLOCK), V(MS_DIRSYNC),
	{256, "MS_NOSYMFOLLOW"}, V(MS_NOATIME), V(MS_NODIRATIME), V(MS_BIND), V(MS_MOVE), V(MS_REC),
	V(MS_SILENT), V(MS_POSIXACL), V(MS_UNBINDABLE), V(MS_PRIVATE), V(MS_SLAVE), V(MS_SHARED),
	V(MS_RELATIME), V(MS_KERNMOUNT), V(MS_I_VERSION), V(MS_STRICTATIME), V(MS_LAZYTIME)};
CALLS_FLAGS(mount, "MS_???");

static const struct calls_value unmount_values[] = {
	V(MNT_FORCE), V(MNT_DETACH), V(MNT_EXPIRE), V(UMOUNT_NOFOLLOW)};
CALLS_FLAGS(unmount, "MNT_???");

/* memfd_create(2), include/uapi/linux/memfd.h */
static const struct calls_value memfd_values[] = {{1, "MFD_CLOEXEC"}, {2, "MFD_ALLOW_SEALING"},
	{4, "MFD_HUGETLB"}, {8, "MFD_NOEXEC_SEAL"}, {16, "MFD_EXEC"}};
CALLS_FLAGS(memfd, "MFD_???");

/* ---- events of descriptors ---- */

/* poll(2), include/uapi/asm-generic/poll.h */
static const struct calls_value poll_values[] = {V(POLLIN), V(POLLPRI), V(POLLOUT),
	{0x40, "POLLRDNORM"}, {0x80, "POLLRDBAND"}, {0x100, "POLLWRNORM"}, {0x200, "POLLWRBAND"},
	V(POLLERR), V(POLLHUP), V(POLLNVAL), {0x400, "POLLMSG"}, {0x2000, "POLLRDHUP"}};
CALLS_FLAGS(poll, NULL);

/* epoll_ctl(2), include/uapi/linux/eventpoll.h */
static const struct calls_value epoll_values[] = {V(EPOLL_CLOEXEC)};
CALLS_FLAGS(epoll, "EPOLL_???");

static const struct calls_value epoll_operation_values[] = {
	V(EPOLL_CTL_ADD), V(EPOLL_CTL_DEL), V(EPOLL_CTL_MOD)};
CALLS_ONE(epoll_operation, "EPOLL_CTL_???");

static const struct calls_value epoll_events_values[] = {V(EPOLLIN), V(EPOLLPRI), V(EPOLLOUT),
	V(EPOLLRDNORM), V(EPOLLRDBAND), V(EPOLLWRNORM), V(EPOLLWRBAND), V(EPOLLMSG), V(EPOLLERR),
	V(EPOLLHUP), V(EPOLLRDHUP), {1U << 28, "EPOLLEXCLUSIVE"}, V(EPOLLWAKEUP), V(EPOLLONESHOT),
	{1U << 31, "EPOLLET"}};
CALLS_FLAGS(epoll_events, "EPOLL???");

static const struct calls_value eventfd_values[] = {
	V(EFD_SEMAPHORE), V(EFD_CLOEXEC), V(EFD_NONBLOCK)};
CALLS_FLAGS(eventfd, "EFD_???");

/* inotify(7) */
static const struct calls_value inotify_values[] = {V(IN_CLOEXEC), V(IN_NONBLOCK)};
CALLS_FLAGS(inotify, "IN_???");

static const struct calls_value inotify_events_values[] = {V(IN_ACCESS), V(IN_MODIFY), V(IN_ATTRIB),
	V(IN_CLOSE_WRITE), V(IN_CLOSE_NOWRITE), V(IN_OPEN), V(IN_MOVED_FROM), V(IN_MOVED_TO),
	V(IN_CREATE), V(IN_DELETE), V(IN_DELETE_SELF), V(IN_MOVE_SELF), V(IN_UNMOUNT),
	V(IN_Q_OVERFLOW), V(IN_IGNORED), V(IN_ONLYDIR), V(IN_DONT_FOLLOW), V(IN_EXCL_UNLINK),
	V(IN_MASK_CREATE), V(IN_MASK_ADD), V(IN_ISDIR), {1U << 31, "IN_ONESHOT"}};
CALLS_FLAGS(inotify_events, "IN_???");
