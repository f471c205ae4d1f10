package hostfs

import "go.uber.org/zap"

// Writer writes files below a root; after a crash each is the old one or the new one. It also reads
// files, because the ledger and the journal are read by the code that writes them.
type Writer struct {
	files *Reader
	log   writeLog
}

// NewWriter returns a Writer for the files that f reads.
func NewWriter(f *Reader) *Writer { return &Writer{f, writeLog{f.opt.Log}} }

// writeLog gets one line for each operation that writes.
type writeLog struct{ to *zap.Logger }

func (l writeLog) wrote(operation, name string, fields ...zap.Field) {
	if l.to != nil {
		l.to.Debug(operation, append(fields, zap.String("path", name))...)
	}
}

// ReadFile is [Files.ReadFile].
func (w *Writer) ReadFile(name string) ([]byte, error) { return w.files.ReadFile(name) }

// ReadDir is [Files.ReadDir].
func (w *Writer) ReadDir(name string) ([]string, error) { return w.files.ReadDir(name) }
