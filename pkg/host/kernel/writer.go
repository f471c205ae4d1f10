package kernel

import (
	"context"

	"go.uber.org/zap"
)

// Writer sets sysctls and loads modules.
type Writer struct {
	kernel *Reader
	opt    Options
}

// Options says what a [Writer] may do, and with whose help.
type Options struct {
	// HostSysctls says that the keys of the whole machine may be set here, Modules that modules may
	// be loaded here.
	HostSysctls, Modules bool
	// ModuleSource says, in words for an error, where a module comes from that the kernel does not
	// have.
	ModuleSource string
	// StartUnit starts a unit of systemd and waits for its end.
	StartUnit func(ctx context.Context, name string) error
	// LinkSettings tells which links have the same settings, by the directories below /proc/sys
	// that have them: where two values are equal, the keys in both are. nil: each key is read.
	LinkSettings func(ctx context.Context) (map[string]string, error)
	Log          *zap.Logger // nil: none
}

// NewWriter writes to the kernel that k reads.
func NewWriter(k *Reader, opt Options) *Writer { return &Writer{kernel: k, opt: opt} }
