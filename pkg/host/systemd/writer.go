package systemd

import (
	"io"

	"go.uber.org/zap"
)

// Writer starts, stops and enables units.
type Writer struct {
	units    *Reader
	openLock func(file string) (io.Closer, error)
	log      *zap.Logger
}

// NewWriter drives the systemd that units reads. openLock opens a file for writing and makes what
// is missing on the way to it: see [Writer.StartWhenGone]. log may be nil.
func NewWriter(units *Reader, openLock func(file string) (io.Closer, error), log *zap.Logger) *Writer {
	return &Writer{units: units, openLock: openLock, log: log}
}
