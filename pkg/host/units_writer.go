package host

import (
	"io"

	"go.uber.org/zap"
)

// unitWriter starts, stops and enables units.
type unitWriter struct {
	units    *unitReader
	openLock func(file string) (io.Closer, error)
	log      *zap.Logger
}

// newUnitWriter drives the systemd that units reads. openLock opens a file for writing and makes what is missing on the way to it: see
// [unitWriter.StartWhenGone]. log may be nil.
func newUnitWriter(units *unitReader, openLock func(file string) (io.Closer, error), log *zap.Logger) *unitWriter {
	return &unitWriter{units: units, openLock: openLock, log: log}
}
