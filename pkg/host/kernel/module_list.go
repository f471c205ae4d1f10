package kernel

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
)

// ModuleList are the names of the modules that depmod lists, as the kernel has them: files are
// named with underscores or with hyphens.
type ModuleList struct {
	names []byte // a line each, after an empty one
}

// listBuffer is how much of a list is in memory at once: a distribution's modules.dep has half a
// megabyte, and its names an eighth of that.
const listBuffer = 32 << 10

// ReadModuleList reads modules.builtin ("kernel/net/x.ko") or modules.dep ("kernel/net/x.ko.xz:
// …"), up to what cannot be read.
func ReadModuleList(list io.Reader) ModuleList {
	names := append(make([]byte, 0, 2*listBuffer), '\n')
	lines := bufio.NewReaderSize(list, listBuffer)
	for {
		line, err := lines.ReadSlice('\n')
		if name := listedModule(line); len(name) > 0 {
			names = append(append(names, name...), '\n')
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line is what that module depends on
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return ModuleList{names}
		}
	}
}

// listedModule is the name in a line, nil where it has none. It may change the line.
func listedModule(line []byte) []byte {
	file, _, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(":"))
	name, packed, ok := bytes.Cut(file[bytes.LastIndexByte(file, '/')+1:], []byte(".ko"))
	if !ok || len(packed) > 0 && packed[0] != '.' {
		return nil
	}
	for i, c := range name {
		if c == '-' {
			name[i] = '_'
		}
	}
	return name
}

// readModuleFile reads a list of the running kernel. One that cannot be read is an empty one.
func readModuleFile(path string) ModuleList {
	f, err := os.Open(path)
	if err != nil {
		return ModuleList{}
	}
	defer f.Close()
	return ReadModuleList(f)
}

// Has says whether a module is in the list, by its name as the kernel has it.
func (l ModuleList) Has(name string) bool { return bytes.Contains(l.names, []byte("\n"+name+"\n")) }
