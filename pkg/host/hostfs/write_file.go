package hostfs

import "context"

// WriteFile puts one file in place, whole and durable: a [Batch] of one.
func (w *Writer) WriteFile(ctx context.Context, name string, content []byte, spec FileSpec) error {
	return w.WriteFileWith(ctx, name, content, spec, nil)
}

// WriteFileWith is [Writer.WriteFile] for a file that has extended attributes before it is in
// place, see [Writer.SetAttributes].
func (w *Writer) WriteFileWith(
	ctx context.Context, name string, content []byte, spec FileSpec, attrs map[string][]byte,
) error {
	b := w.Batch()
	defer b.Discard()
	s, err := b.Create(name, spec)
	if err != nil {
		return err
	}
	s.attrs = attrs
	if _, err := s.Write(content); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return b.Commit(ctx)
}
