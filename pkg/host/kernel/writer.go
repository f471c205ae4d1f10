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

// Options says what a [Writer] may do, and which functions it uses.
type Options struct {
	// HostSysctls means that keys of scope host may be set; Modules means that modules may be
	// loaded.
	HostSysctls, Modules bool
	// ModuleSource says, for error messages, how to get a module that the kernel does not have.
	ModuleSource string
	// StartUnit starts a unit of systemd and waits for the end of the start.
	StartUnit func(ctx context.Context, name string) error
	// LinkSettings returns the settings of links, by the directory below /proc/sys. If two values
	// are equal, the keys in both directories have equal values. Nil: every key is read.
	LinkSettings func(ctx context.Context) (map[string]string, error)
	Log          *zap.Logger // nil: nothing is logged
}

// NewWriter returns a Writer for the kernel that k reads.
func NewWriter(k *Reader, opt Options) *Writer { return &Writer{kernel: k, opt: opt} }
