package house

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// HostOnly keeps everything that changes the machine in pkg/host.
var HostOnly = rule("hostonly", "only pkg/host writes files, runs programs, opens netlink or D-Bus", hostOnly)

const hostOnlyWhy = "only pkg/host touches the machine, so that a plan cannot write and every write is durable, stays under --root and is tested in one place"

// workshops are the trees that run on a developer's machine and never on a node.
var workshops = []string{"test", "tools", "bench", "examples", "packaging"}

// touching lists the imports that are of no use but to touch the machine. go-systemd's daemon and
// journal packages only report, so they are not here.
var touching = []string{
	"os/exec",
	"io/ioutil",
	"github.com/vishvananda/netlink",
	"github.com/vishvananda/netns",
	"github.com/mdlayher/netlink",
	"github.com/mdlayher/genetlink",
	"github.com/google/nftables",
	"github.com/godbus/dbus",
	"github.com/coreos/go-systemd/v22/dbus",
	"github.com/coreos/go-systemd/v22/login1",
	"github.com/cilium/ebpf",
}

// writers lists the functions and methods that change the machine, by the package that has them.
// Methods are those of os.File and os.Root too.
var writers = map[string][]string{
	"os": {
		"Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "Lchown", "Link", "Mkdir", "MkdirAll", "MkdirTemp", "Remove", "RemoveAll",
		"Rename", "StartProcess", "Symlink", "Truncate", "WriteFile",
	},
	"syscall":               systemCalls,
	"golang.org/x/sys/unix": systemCalls,
}

var systemCalls = []string{
	"AddKey", "Bind", "BpfProgLoad", "Chmod", "Chown", "Chroot", "CopyFileRange", "Creat", "DeleteModule", "Exec", "Fallocate", "Fchmod", "Fchmodat", "Fchown", "Fchownat",
	"FinitModule", "ForkExec", "Fremovexattr", "Fsconfig", "Fsetxattr", "Fsmount", "Ftruncate", "InitModule", "Kill", "Lchown", "Link", "Linkat", "Lremovexattr",
	"Lsetxattr", "Mkdir", "Mkdirat", "Mkfifo", "Mkfifoat", "Mknod", "Mknodat", "Mount", "MountSetattr", "MoveMount", "Open", "Openat", "Openat2",
	"PivotRoot", "PtraceAttach", "RawSyscall", "RawSyscall6", "Reboot", "Removexattr", "Rename", "Renameat", "Renameat2", "Rmdir", "Setdomainname", "Sethostname",
	"Setns", "Setxattr", "Socket", "Socketpair", "StartProcess", "Swapon", "Symlink", "Symlinkat", "Syscall", "Syscall6", "Truncate", "Unlink", "Unlinkat",
	"Unmount", "Unshare", "Utimes", "UtimesNano", "UtimesNanoAt",
}

func hostOnly(p *pass) {
	at, ours := p.within()
	if !ours || below(at, "pkg/host") || slices.ContainsFunc(workshops, func(dir string) bool { return below(at, dir) }) {
		return
	}
	for _, f := range p.sources() {
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if slices.ContainsFunc(touching, func(banned string) bool { return below(path, banned) || strings.HasPrefix(path, banned+"/v") }) {
				p.say(spec.Pos(), "import of %s outside pkg/host: ask pkg/host for what you need of it; %s", path, hostOnlyWhy)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if fn, ok := p.TypesInfo.Uses[id].(*types.Func); ok && fn.Pkg() != nil && slices.Contains(writers[fn.Pkg().Path()], fn.Name()) {
					p.say(id.Pos(), "%s outside pkg/host: use the host's own method; %s", funcName(fn), hostOnlyWhy)
				}
			}
			if call, ok := n.(*ast.CallExpr); ok && opensForWriting(p, call) {
				p.say(call.Pos(), "os.OpenFile for writing outside pkg/host: use the host's own method; %s", hostOnlyWhy)
			}
			return true
		})
	}
}

// opensForWriting tells that a call is os.OpenFile or a root's OpenFile with flags that write, or
// whose flags are not known here.
func opensForWriting(p *pass, call *ast.CallExpr) bool {
	fn := callee(p, call)
	if fn == nil || fn.Name() != "OpenFile" || fn.Pkg() == nil || fn.Pkg().Path() != "os" || len(call.Args) < 2 {
		return false
	}
	const writing = 0x1 | 0x2 | 0x40 | 0x200 | 0x400 // O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND of Linux
	flags := p.TypesInfo.Types[call.Args[1]].Value
	if flags == nil {
		return true
	}
	value, exact := constant.Int64Val(flags)
	return !exact || value&writing != 0
}

// callee is the function or method that a call names, nil when it calls a value.
func callee(p *pass, call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	fn, _ := p.TypesInfo.Uses[id].(*types.Func)
	return fn
}

// funcName is "os.Rename" or "(*os.Root).Rename".
func funcName(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
		return "(" + recv.Type().String() + ")." + fn.Name()
	}
	return fn.Pkg().Name() + "." + fn.Name()
}
