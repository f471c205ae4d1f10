package kernel

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"golang.org/x/sys/unix"
)

// moduleLists are the lists that depmod wrote for the running kernel, and the kernel's list of file
// systems. They are read when the first module is looked up that is not loaded. A missing list
// counts as empty.
type moduleLists struct {
	once              sync.Once
	loadable, builtin ModuleList
	filesystems       []byte // /proc/filesystems
}

func (k *Reader) readLists() {
	dir := k.Lib + "/" + k.Release
	lines := bufio.NewReaderSize(nil, listBuffer)
	k.lists.loadable = readModuleFile(dir+"/modules.dep", lines, 2*listBuffer)
	k.lists.builtin = readModuleFile(dir+"/modules.builtin", lines, listBuffer/8)
	k.lists.filesystems, _ = sys.ReadKernelFile(k.Proc + "/filesystems")
}

// findOnDisk sets the state of modules that are not loaded: loadable if on disk, or built in.
func (k *Reader) findOnDisk(states map[string]ModuleState) {
	if len(states) == 0 {
		return
	}
	k.lists.once.Do(k.readLists)
	k.lists.loadable.Mark(states, ModuleLoadable)
	k.lists.builtin.Mark(states, ModuleBuiltin)
	for name := range states {
		if k.showsModule(name, k.lists.filesystems) {
			states[name] = ModuleBuiltin
		}
	}
}

// ModuleList has the names of the modules in a list of depmod, as the kernel spells them: with
// underscores, even if the file's name has hyphens.
type ModuleList struct {
	names []byte // one on each line
}

// listBuffer is how much of a list is in memory at once: the modules.dep of a distribution has half
// a megabyte, its names an eighth of that.
const listBuffer = 32 << 10

// ReadModuleList reads modules.builtin ("kernel/net/x.ko") or modules.dep ("kernel/net/x.ko.xz:
// …"). It stops at a read error.
func ReadModuleList(list io.Reader) ModuleList {
	return readModuleList(bufio.NewReaderSize(list, listBuffer), 2*listBuffer)
}

// readModuleList is ReadModuleList with an initial capacity of most bytes for the names.
func readModuleList(lines *bufio.Reader, most int) ModuleList {
	names := make([]byte, 0, most)
	for {
		line, err := lines.ReadSlice('\n')
		if name := listedModule(line); len(name) > 0 {
			names = append(append(names, name...), '\n')
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of the line lists dependencies
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return ModuleList{names}
		}
	}
}

// listedModule returns the module's name in a line, or nil. It may change the line.
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

// readModuleFile reads a list of the running kernel through a buffer. A list that cannot be read
// counts as empty.
func readModuleFile(path string, lines *bufio.Reader, most int) ModuleList {
	f, err := blob.Open(path)
	if err != nil {
		return ModuleList{}
	}
	defer f.Close()
	lines.Reset(f)
	return readModuleList(lines, most)
}

// Mark sets the state of each module in states that the list contains (names with underscores). It
// reads the list once, because the list of a distribution has thousands of names.
func (l ModuleList) Mark(states map[string]ModuleState, state ModuleState) {
	for name := range bytes.SplitSeq(l.names, []byte("\n")) {
		if _, asked := states[string(name)]; asked {
			states[string(name)] = state
		}
	}
}

// builtinPaths are paths that exist if a module is built in. They are for kernels without
// modules.builtin (a container, a kernel without modules).
var builtinPaths = map[string]string{
	"br_netfilter": "/sys/net/bridge",
	"nf_conntrack": "/sys/net/netfilter/nf_conntrack_count",
	"ip_vs":        "/sys/net/ipv4/vs",
	"ipv6":         "/sys/net/ipv6",
}

// showsModule reports whether the kernel shows the files of a built-in module.
func (k *Reader) showsModule(name string, filesystems []byte) bool {
	if sign := builtinPaths[name]; sign != "" {
		return unix.Access(k.Proc+sign, unix.F_OK) == nil
	}
	return bytes.Contains(filesystems, []byte("\t"+name+"\n"))
}
