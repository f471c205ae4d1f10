package host

type files struct{ Files }

func openFiles(Options) (*files, error) { return &files{}, nil }
func (*files) close() error             { return nil }
