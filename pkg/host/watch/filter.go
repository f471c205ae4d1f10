package watch

import "golang.org/x/sys/unix"

// These are the instructions of a filter in the kernel (linux/filter.h). A and X are its registers.
// A jump skips instructions that follow it. Numbers in a message are read big-endian.

var (
	accept = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16}
	drop   = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}

	aToX  = unix.SockFilter{Code: unix.BPF_MISC | unix.BPF_TAX}
	aToM  = unix.SockFilter{Code: unix.BPF_ST} // M is memory of the filter
	mToX  = unix.SockFilter{Code: unix.BPF_LDX | unix.BPF_MEM}
	aXorX = unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_XOR | unix.BPF_X}
	// findAttr loads the offset of the attribute of kind X that follows offset A into A; 0: none
	// does.
	findAttr = unix.SockFilter{Code: unix.BPF_LD | unix.BPF_ABS | unix.BPF_W, K: skfNLAttr}
)

// skfNLAttr is SKF_AD_OFF + SKF_AD_NLATTR.
const skfNLAttr = 1<<32 - 0x1000 + 12

// loadA loads a number into A: a constant (BPF_IMM), or one of a message, whose width is BPF_B,
// BPF_H or BPF_W, at an offset (BPF_ABS) or behind X (BPF_IND).
func loadA(from uint16, k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | from, K: k}
}

// loadX loads a constant into X.
func loadX(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_LDX | unix.BPF_IMM, K: k} }

// skip jumps.
func skip(n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(n)}
}

// ifA jumps by whether A is k (BPF_JEQ) or has bits of k (BPF_JSET).
func ifA(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test, Jt: yes, Jf: no, K: k}
}

// number returns the value that a filter loads from these bytes.
func number(b []byte) (n uint32) {
	for _, one := range b {
		n = n<<8 | uint32(one)
	}
	return n
}
