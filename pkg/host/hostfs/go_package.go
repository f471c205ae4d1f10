package hostfs

import (
	"bytes"
	"debug/elf"
	"os"
)

// GoPackage returns the path of the main package of a program, which Go's linker writes into it
// (debug/buildinfo). It is "" if the file is no such program or cannot be read.
func GoPackage(f *Reader, name string) string {
	path, _ := look("read", name, func(name string) (path []byte, err error) {
		fd, _, err := f.openRegular(name)
		if err != nil {
			return nil, err
		}
		file := os.NewFile(uintptr(fd), name)
		defer file.Close()
		program, err := elf.NewFile(file)
		if err != nil {
			return nil, err
		}
		if section := program.Section(".go.buildinfo"); section != nil {
			path, err = section.Data()
			_, path, _ = bytes.Cut(path, []byte("path\t"))
			path, _, _ = bytes.Cut(path, []byte("\n"))
		}
		return path, err
	})
	return string(path)
}
