package kernel

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"golang.org/x/sys/unix"
)

// moduleLists are what depmod wrote for the running kernel, and what the kernel says of itself.
// They are read when somebody asks for a module that is not loaded. Where there is nothing, nothing
// is known to be loadable.
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

// findOnDisk finds out of modules that are not loaded whether they are on disk or built in.
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

// ModuleList are the names of the modules that depmod lists, as the kernel has them: files are
// named with underscores or with hyphens.
type ModuleList struct {
	names []byte // a line each
}

// listBuffer is how much of a list is in memory at once: a distribution's modules.dep has half a
// megabyte, and its names an eighth of that.
const listBuffer = 32 << 10

// ReadModuleList reads modules.builtin ("kernel/net/x.ko") or modules.dep ("kernel/net/x.ko.xz:
// …"), up to what cannot be read.
func ReadModuleList(list io.Reader) ModuleList {
	return readModuleList(bufio.NewReaderSize(list, listBuffer), 2*listBuffer)
}

// readModuleList does so. Up to most bytes of names take one piece of memory.
func readModuleList(lines *bufio.Reader, most int) ModuleList {
	names := make([]byte, 0, most)
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

// readModuleFile reads a list of the running kernel through a buffer. One that cannot be read is an
// empty one.
func readModuleFile(path string, lines *bufio.Reader, most int) ModuleList {
	f, err := os.Open(path)
	if err != nil {
		return ModuleList{}
	}
	defer f.Close()
	lines.Reset(f)
	return readModuleList(lines, most)
}

// Mark sets the state of each module of states that the list has, by its name as the kernel has it.
// It walks the list once: that of a distribution has thousands of names.
func (l ModuleList) Mark(states map[string]ModuleState, state ModuleState) {
	for name := range bytes.SplitSeq(l.names, []byte("\n")) {
		if _, asked := states[string(name)]; asked {
			states[string(name)] = state
		}
	}
}

// builtinPaths are what a kernel shows that has a module inside, for kernels whose
// modules.builtin is not there (a container, a kernel without modules).
var builtinPaths = map[string]string{
	"br_netfilter": "/sys/net/bridge",
	"nf_conntrack": "/sys/net/netfilter/nf_conntrack_count",
	"ip_vs":        "/sys/net/ipv4/vs",
	"ipv6":         "/sys/net/ipv6",
}

// showsModule says that the kernel acts as one that has the module.
func (k *Reader) showsModule(name string, filesystems []byte) bool {
	if sign := builtinPaths[name]; sign != "" {
		return unix.Access(k.Proc+sign, unix.F_OK) == nil
	}
	return bytes.Contains(filesystems, []byte("\t"+name+"\n"))
}
