/* SPDX-License-Identifier: MIT */
/* Names of flags of sockets, and of ioctl(2) requests. */
#include <stdbool.h>

#include "calls/names.h"

#include <linux/fs.h>
#include <linux/if_tun.h>
#include <linux/perf_event.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "calls/names_table.h"

/* socket(2), include/linux/socket.h */
static const struct calls_value family_values[] = {V(AF_UNSPEC), V(AF_UNIX), V(AF_INET), V(AF_AX25),
	V(AF_IPX), V(AF_APPLETALK), V(AF_NETROM), V(AF_BRIDGE), V(AF_ATMPVC), V(AF_X25),
	V(AF_INET6), V(AF_ROSE), V(AF_KEY), V(AF_NETLINK), V(AF_PACKET), V(AF_RDS), V(AF_PPPOX),
	V(AF_LLC), V(AF_CAN), V(AF_TIPC), V(AF_BLUETOOTH), V(AF_ALG), V(AF_NFC), V(AF_VSOCK),
	V(AF_KCM), V(AF_QIPCRTR), V(AF_SMC), V(AF_XDP), V(AF_MCTP)};
CALLS_ONE(family, "AF_???");

static const struct calls_value socket_values[] = {{1, "SOCK_STREAM"}, {2, "SOCK_DGRAM"},
	{3, "SOCK_RAW"}, {4, "SOCK_RDM"}, {5, "SOCK_SEQPACKET"}, {6, "SOCK_DCCP"},
	{10, "SOCK_PACKET"}, {02000000, "SOCK_CLOEXEC"}, {04000, "SOCK_NONBLOCK"}};
CALLS_FLAGS_WITH(socket, 0xf, "SOCK_???");

static const struct calls_value socket_flags_values[] = {
	{02000000, "SOCK_CLOEXEC"}, {04000, "SOCK_NONBLOCK"}};
CALLS_FLAGS(socket_flags, "SOCK_???");

static const struct calls_value protocol_values[] = {V(IPPROTO_IP), V(IPPROTO_ICMP),
	V(IPPROTO_IGMP), V(IPPROTO_IPIP), V(IPPROTO_TCP), V(IPPROTO_UDP), V(IPPROTO_IPV6),
	V(IPPROTO_GRE), V(IPPROTO_ESP), V(IPPROTO_AH), V(IPPROTO_ICMPV6), V(IPPROTO_SCTP),
	V(IPPROTO_UDPLITE), V(IPPROTO_RAW), {262, "IPPROTO_MPTCP"}};
CALLS_ONE(protocol, "IPPROTO_???");

/* send(2), include/linux/socket.h */
static const struct calls_value message_values[] = {{0x1, "MSG_OOB"}, {0x2, "MSG_PEEK"},
	{0x4, "MSG_DONTROUTE"}, {0x8, "MSG_CTRUNC"}, {0x10, "MSG_PROXY"}, {0x20, "MSG_TRUNC"},
	{0x40, "MSG_DONTWAIT"}, {0x80, "MSG_EOR"}, {0x100, "MSG_WAITALL"}, {0x200, "MSG_FIN"},
	{0x400, "MSG_SYN"}, {0x800, "MSG_CONFIRM"}, {0x1000, "MSG_RST"}, {0x2000, "MSG_ERRQUEUE"},
	{0x4000, "MSG_NOSIGNAL"}, {0x8000, "MSG_MORE"}, {0x10000, "MSG_WAITFORONE"},
	{0x40000, "MSG_BATCH"}, {0x4000000, "MSG_ZEROCOPY"}, {0x20000000, "MSG_FASTOPEN"},
	{0x40000000, "MSG_CMSG_CLOEXEC"}};
CALLS_FLAGS(message, "MSG_???");

static const struct calls_value shut_values[] = {V(SHUT_RD), V(SHUT_WR), V(SHUT_RDWR)};
CALLS_ONE(shut, "SHUT_???");

static const struct calls_value socket_level_values[] = {{0, "SOL_IP"}, {1, "SOL_SOCKET"},
	{6, "SOL_TCP"}, {17, "SOL_UDP"}, {41, "SOL_IPV6"}, {58, "SOL_ICMPV6"}, {132, "SOL_SCTP"},
	{255, "SOL_RAW"}, {263, "SOL_PACKET"}, {270, "SOL_NETLINK"}, {279, "SOL_ALG"},
	{282, "SOL_TLS"}, {283, "SOL_XDP"}, {284, "SOL_MPTCP"}};
CALLS_ONE(socket_level, "SOL_???");

/* socket(7), include/uapi/asm-generic/socket.h */
static const struct calls_value socket_option_values[] = {{1, "SO_DEBUG"}, {2, "SO_REUSEADDR"},
	{3, "SO_TYPE"}, {4, "SO_ERROR"}, {5, "SO_DONTROUTE"}, {6, "SO_BROADCAST"}, {7, "SO_SNDBUF"},
	{8, "SO_RCVBUF"}, {9, "SO_KEEPALIVE"}, {10, "SO_OOBINLINE"}, {11, "SO_NO_CHECK"},
	{12, "SO_PRIORITY"}, {13, "SO_LINGER"}, {14, "SO_BSDCOMPAT"}, {15, "SO_REUSEPORT"},
	{16, "SO_PASSCRED"}, {17, "SO_PEERCRED"}, {18, "SO_RCVLOWAT"}, {19, "SO_SNDLOWAT"},
	{20, "SO_RCVTIMEO_OLD"}, {21, "SO_SNDTIMEO_OLD"}, {25, "SO_BINDTODEVICE"},
	{26, "SO_ATTACH_FILTER"}, {27, "SO_DETACH_FILTER"}, {28, "SO_PEERNAME"},
	{29, "SO_TIMESTAMP_OLD"}, {30, "SO_ACCEPTCONN"}, {31, "SO_PEERSEC"}, {32, "SO_SNDBUFFORCE"},
	{33, "SO_RCVBUFFORCE"}, {34, "SO_PASSSEC"}, {35, "SO_TIMESTAMPNS_OLD"}, {36, "SO_MARK"},
	{37, "SO_TIMESTAMPING_OLD"}, {38, "SO_PROTOCOL"}, {39, "SO_DOMAIN"}, {40, "SO_RXQ_OVFL"},
	{41, "SO_WIFI_STATUS"}, {42, "SO_PEEK_OFF"}, {43, "SO_NOFCS"}, {44, "SO_LOCK_FILTER"},
	{45, "SO_SELECT_ERR_QUEUE"}, {46, "SO_BUSY_POLL"}, {47, "SO_MAX_PACING_RATE"},
	{49, "SO_INCOMING_CPU"}, {50, "SO_ATTACH_BPF"}, {51, "SO_ATTACH_REUSEPORT_CBPF"},
	{52, "SO_ATTACH_REUSEPORT_EBPF"}, {53, "SO_CNX_ADVICE"}, {55, "SO_MEMINFO"},
	{56, "SO_INCOMING_NAPI_ID"}, {57, "SO_COOKIE"}, {59, "SO_PEERGROUPS"}, {60, "SO_ZEROCOPY"},
	{61, "SO_TXTIME"}, {62, "SO_BINDTOIFINDEX"}};
CALLS_ONE(socket_option, "SO_???");

/* ip(7), ipv6(7), tcp(7): include/uapi/linux/in.h, in6.h and tcp.h */
static const struct calls_value ip_option_values[] = {{1, "IP_TOS"}, {2, "IP_TTL"},
	{3, "IP_HDRINCL"}, {4, "IP_OPTIONS"}, {5, "IP_ROUTER_ALERT"}, {6, "IP_RECVOPTS"},
	{7, "IP_RETOPTS"}, {8, "IP_PKTINFO"}, {10, "IP_MTU_DISCOVER"}, {11, "IP_RECVERR"},
	{12, "IP_RECVTTL"}, {13, "IP_RECVTOS"}, {14, "IP_MTU"}, {15, "IP_FREEBIND"},
	{19, "IP_TRANSPARENT"}, {24, "IP_BIND_ADDRESS_NO_PORT"}, {32, "IP_MULTICAST_IF"},
	{33, "IP_MULTICAST_TTL"}, {34, "IP_MULTICAST_LOOP"}, {35, "IP_ADD_MEMBERSHIP"},
	{36, "IP_DROP_MEMBERSHIP"}};
CALLS_ONE(ip_option, "IP_???");

static const struct calls_value ipv6_option_values[] = {{1, "IPV6_ADDRFORM"},
	{16, "IPV6_UNICAST_HOPS"}, {17, "IPV6_MULTICAST_IF"}, {18, "IPV6_MULTICAST_HOPS"},
	{19, "IPV6_MULTICAST_LOOP"}, {20, "IPV6_ADD_MEMBERSHIP"}, {21, "IPV6_DROP_MEMBERSHIP"},
	{23, "IPV6_MTU_DISCOVER"}, {24, "IPV6_MTU"}, {25, "IPV6_RECVERR"}, {26, "IPV6_V6ONLY"},
	{49, "IPV6_RECVPKTINFO"}, {50, "IPV6_PKTINFO"}, {51, "IPV6_RECVHOPLIMIT"},
	{66, "IPV6_RECVTCLASS"}, {67, "IPV6_TCLASS"}};
CALLS_ONE(ipv6_option, "IPV6_???");

static const struct calls_value tcp_option_values[] = {{1, "TCP_NODELAY"}, {2, "TCP_MAXSEG"},
	{3, "TCP_CORK"}, {4, "TCP_KEEPIDLE"}, {5, "TCP_KEEPINTVL"}, {6, "TCP_KEEPCNT"},
	{7, "TCP_SYNCNT"}, {8, "TCP_LINGER2"}, {9, "TCP_DEFER_ACCEPT"}, {10, "TCP_WINDOW_CLAMP"},
	{11, "TCP_INFO"}, {12, "TCP_QUICKACK"}, {13, "TCP_CONGESTION"}, {14, "TCP_MD5SIG"},
	{18, "TCP_USER_TIMEOUT"}, {19, "TCP_REPAIR"}, {23, "TCP_FASTOPEN"}, {24, "TCP_TIMESTAMP"},
	{25, "TCP_NOTSENT_LOWAT"}, {26, "TCP_CC_INFO"}, {30, "TCP_FASTOPEN_CONNECT"},
	{31, "TCP_ULP"}, {35, "TCP_ZEROCOPY_RECEIVE"}, {36, "TCP_INQ"}};
CALLS_ONE(tcp_option, "TCP_???");

/*
 * ioctl(2): include/uapi/asm-generic/ioctls.h, linux/fs.h, linux/sockios.h, linux/if_tun.h,
 * linux/perf_event.h
 */
static const struct calls_value ioctl_values[] = {V(TCGETS), V(TCSETS), V(TCSETSW), V(TCSETSF),
	V(TCGETA), V(TCSETA), V(TCSBRK), V(TCXONC), V(TCFLSH), V(TIOCEXCL), V(TIOCNXCL),
	V(TIOCSCTTY), V(TIOCGPGRP), V(TIOCSPGRP), V(TIOCOUTQ), V(TIOCSTI), V(TIOCGWINSZ),
	V(TIOCSWINSZ), V(TIOCMGET), V(FIONREAD), V(TIOCPKT), V(FIONBIO), V(TIOCNOTTY), V(TIOCSETD),
	V(TIOCGETD), V(TCSBRKP), V(TIOCSBRK), V(TIOCCBRK), V(TIOCGSID), V(TIOCGPTN), V(TIOCSPTLCK),
	V(TIOCGPTPEER), V(FIONCLEX), V(FIOCLEX), V(FIOASYNC), V(FIOQSIZE), V(FIBMAP), V(FIGETBSZ),
	V(FICLONE), V(FICLONERANGE), V(FIDEDUPERANGE), V(FIFREEZE), V(FITHAW), V(FITRIM),
	V(FS_IOC_GETFLAGS), V(FS_IOC_SETFLAGS), V(FS_IOC_FSGETXATTR), V(FS_IOC_FSSETXATTR),
	V(BLKROSET), V(BLKROGET), V(BLKRRPART), V(BLKGETSIZE), V(BLKFLSBUF), V(BLKSSZGET),
	V(BLKGETSIZE64), V(BLKDISCARD), V(BLKPBSZGET), V(BLKZEROOUT), V(SIOCGIFNAME),
	V(SIOCGIFCONF), V(SIOCGIFFLAGS), V(SIOCSIFFLAGS), V(SIOCGIFADDR), V(SIOCSIFADDR),
	V(SIOCGIFMTU), V(SIOCSIFMTU), V(SIOCGIFHWADDR), V(SIOCGIFINDEX), V(SIOCETHTOOL),
	V(TUNSETIFF), V(TUNGETIFF), V(PERF_EVENT_IOC_ENABLE), V(PERF_EVENT_IOC_DISABLE),
	V(PERF_EVENT_IOC_REFRESH), V(PERF_EVENT_IOC_RESET), V(PERF_EVENT_IOC_PERIOD),
	V(PERF_EVENT_IOC_SET_OUTPUT), V(PERF_EVENT_IOC_SET_FILTER), V(PERF_EVENT_IOC_ID),
	V(PERF_EVENT_IOC_SET_BPF)};
CALLS_ONE(ioctl, NULL);
