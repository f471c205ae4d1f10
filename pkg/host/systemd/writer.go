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

// NewWriter returns a Writer for the systemd that units reads. openLock opens a file for writing
// and creates missing directories: see [Writer.StartWhenGone]. log may be nil.
func NewWriter(units *Reader, openLock func(file string) (io.Closer, error), log *zap.Logger) *Writer {
	return &Writer{units: units, openLock: openLock, log: log}
}
