package hostfs

// Writer writes files below a root, each of them old or new after a crash.
type Writer struct{ files *Reader }

// NewWriter writes where f reads.
func NewWriter(f *Reader) *Writer { return &Writer{files: f} }
