package hostfs

// Writer writes files below a root, each of them old or new after a crash. It reads what its caller
// writes on: a ledger, a journal.
type Writer struct{ files *Reader }

// NewWriter writes where f reads.
func NewWriter(f *Reader) *Writer { return &Writer{files: f} }

// ReadFile is [Files.ReadFile].
func (w *Writer) ReadFile(name string) ([]byte, error) { return w.files.ReadFile(name) }

// ReadDir is [Files.ReadDir].
func (w *Writer) ReadDir(name string) ([]string, error) { return w.files.ReadDir(name) }
