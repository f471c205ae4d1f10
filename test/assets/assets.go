// Package assets builds the programs of other projects that the tests run: CNI plugins, cnitool,
// etcd, versitygw, containerd 2, daemons of networks. Each program comes from the module proxy, at
// a version that a module pins (examples/assets, test/assets/…, test/plugins/modules/…). It is
// built once and cached. The package needs Go; flanneld also needs gcc and the static libc.
package assets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/program"
)

// CNIPlugins returns a directory with the 18 plugins of containernetworking/plugins and no other
// program.
func CNIPlugins(t testing.TB) string {
	t.Helper()
	return filepath.Join(cni(t), "plugins")
}

// CNIArchive returns an archive of the plugins in the form of their release,
// cni-plugins-linux-<arch>-<version>.tgz, and its sha256 in hex.
func CNIArchive(t testing.TB) (path, sum string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(cni(t), "cni-plugins-*.tgz"))
	if len(found) != 1 {
		t.Fatalf("looking for the archive of the CNI plugins: found %v", found)
	}
	line, err := os.ReadFile(found[0] + ".sha256")
	if err != nil {
		t.Fatalf("reading the hash of the CNI plugins: %v", err)
	}
	sum, _, _ = strings.Cut(string(line), " ")
	return found[0], sum
}

// Cnitool is the program that runs CNI plugins as a container runtime does.
func Cnitool(t testing.TB) string {
	t.Helper()
	return filepath.Join(cni(t), "cnitool")
}

// Etcd is a directory with etcd and etcdctl.
func Etcd(t testing.TB) string {
	t.Helper()
	return built(t, "etcd", "test/assets/etcd", func(source, dir string) error {
		if err := build(source, dir, small); err != nil {
			return err
		}
		return os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd"))
	})
}

// Versitygw is an S3 server over a directory.
func Versitygw(t testing.TB) string {
	t.Helper()
	return filepath.Join(Tools(t, "versitygw", "test/assets/versitygw"), "versitygw")
}

// Containerd2 is the containerd of a 2.x release: the daemon alone, no shim and no runc. It serves
// CRI, and runs no containers.
func Containerd2(t testing.TB) string {
	t.Helper()
	return filepath.Join(Tools(t, "containerd", "test/assets/containerd"), "containerd")
}

// Flannel returns the CNI plugin flannel, which flannel's DaemonSet installs on nodes. It supports
// CNI up to 0.4.0.
func Flannel(t testing.TB) string {
	t.Helper()
	return filepath.Join(Tools(t, "flannel", "test/assets/flannel"), "flannel")
}

// Multus returns the thin plugin of Multus, which the DaemonSet of Multus installs on nodes.
func Multus(t testing.TB) string {
	t.Helper()
	return filepath.Join(Plugins(t, "clientgo"), "multus")
}

// Calico returns a directory with Calico's plugin, calico (by the name calico-ipam it is the IPAM
// plugin), and with its daemon, calico-node, which contains the first start, Felix and the rest.
// The daemon is built without cgo, so it has no eBPF.
func Calico(t testing.TB) string {
	t.Helper()
	return Plugins(t, "calico")
}

// AmazonVPC is a directory with Amazon's plugins, the programs of aws-node and its init container,
// and the template of the conf that aws-node writes.
func AmazonVPC(t testing.TB) string {
	t.Helper()
	return Plugins(t, "amazonvpc")
}

// Flanneld returns the daemon of flannel. The daemon has a proxy in C (backend udp), but needs no
// library of the node in which it runs.
func Flanneld(t testing.TB) string {
	t.Helper()
	needs.Tool(t, "gcc")
	return filepath.Join(built(t, "flanneld", "test/assets/flanneld", func(source, dir string) error {
		return build(source, dir, small+" -linkmode=external -extldflags=-static", "CGO_ENABLED=1")
	}), "flannel")
}

// Coil is a directory with Coil's daemons, coild and coil-router, its controller and its installer,
// and the definitions of its resources: coil.yaml. Its plugin is in [Plugins].
func Coil(t testing.TB) string {
	t.Helper()
	return built(t, "coil", "test/assets/coil", func(source, dir string) error {
		return errors.Join(build(source, dir, small),
			manifests(source, "github.com/cybozu-go/coil/v2", "config/crd/bases/*.yaml", filepath.Join(dir, "coil.yaml")))
	})
}

// Hybridnet is a directory with Hybridnet's daemon and manager, and the definitions of its
// resources: hybridnet.yaml.
func Hybridnet(t testing.TB) string {
	t.Helper()
	return built(t, "hybridnet", "test/assets/hybridnet", func(source, dir string) error {
		return errors.Join(build(source, dir, small),
			manifests(source, "github.com/alibaba/hybridnet", "charts/hybridnet/crds/*.alibaba.com_*.yaml", filepath.Join(dir, "hybridnet.yaml")))
	})
}

// KubeOVN returns a directory with Kube-OVN's daemon and controller, the definitions of its
// resources, kubeovn.yaml, and the other files of its installer. The plugin is in [Plugins].
func KubeOVN(t testing.TB) string {
	t.Helper()
	return built(t, "kubeovn", "test/assets/kubeovn", func(source, dir string) error {
		const module = "github.com/kubeovn/kube-ovn"
		return errors.Join(build(source, dir, small),
			manifests(source, module, "charts/kube-ovn-v2/crds/*.yaml", filepath.Join(dir, "kubeovn.yaml")),
			take(source, module, "dist/images/01-kube-ovn.conflist", dir), take(source, module, "dist/images/kubectl-ko", dir))
	})
}

// Kubernetes returns a directory with kube-apiserver, kubelet and kube-proxy of one release.
// Building them takes minutes and 2 GB of memory, so only suites that a person asks for by name use
// it.
func Kubernetes(t testing.TB) string {
	t.Helper()
	return built(t, "kubernetes", "test/assets/kubernetes", func(source, dir string) error {
		version, err := required(source, "k8s.io/kubernetes", "{{.Version}}")
		if err != nil {
			return err
		}
		// They judge by their own version which parts of the API they have.
		named := " -X k8s.io/component-base/version.gitVersion=" + version
		return build(source, dir, small+named)
	})
}

// CoreDNS returns a CoreDNS with only the plugins that answer for a cluster.
func CoreDNS(t testing.TB) string {
	t.Helper()
	return filepath.Join(built(t, "coredns", "test/assets/coredns", func(source, dir string) error { return build(source, dir, small) }, "main.go"), "coredns")
}

// Plugins returns a directory with the programs of a module below test/plugins/modules, and with
// the files that these programs read.
func Plugins(t testing.TB, module string) string {
	t.Helper()
	return built(t, "plugin-"+module, "test/plugins/modules/"+module, func(source, dir string) error {
		if err := build(source, dir, small); err != nil {
			return err
		}
		for _, file := range templates[module] {
			if err := take(source, file[0], file[1], dir); err != nil {
				return err
			}
		}
		return nil
	})
}

// templates are files that the programs of a module read: of which module, and where in it.
var templates = map[string][][2]string{"amazonvpc": {{"github.com/aws/amazon-vpc-cni-k8s", "misc/10-aws.conflist"}}}

// Tools returns a directory with the programs in the tool lines of a module of this repository. The
// directory is cached under name.
func Tools(t testing.TB, name, module string) string {
	t.Helper()
	return built(t, name, module, func(source, dir string) error { return build(source, dir, small) })
}

// built is what build makes of a module; sources are the files that decide of it beside go.mod and
// go.sum.
func built(t testing.TB, name, module string, build func(source, dir string) error, sources ...string) string {
	t.Helper()
	source := filepath.Join(program.Repository(t), module)
	return cache.Built(t, name, key(t, source, append([]string{"go.mod", "go.sum"}, sources...)...), func(dir string) error { return build(source, dir) })
}

// small are the linker's flags for a program without symbols.
const small = "-s -w"

// quick are the compiler's flags for programs of others: without optimisation and debug information
// a build takes a third less of processor time, of which they take far more than to run them.
const quick = "-gcflags=all=-N -l -dwarf=false"

func build(source, dir, ldflags string, environment ...string) error {
	return run(source, environment, "go", "build", "-buildvcs=false", quick, "-ldflags="+ldflags, "-o", dir+"/", "tool")
}

func cni(t testing.TB) string {
	t.Helper()
	source := filepath.Join(program.Repository(t), "examples/assets")
	return cache.Built(t, "cni", key(t, source, "go.mod", "go.sum", "main.go"), func(dir string) error {
		if err := run(source, nil, "go", "run", ".", "-o", dir); err != nil {
			return err
		}
		bin, plugins := filepath.Join(dir, "linux-"+runtime.GOARCH), filepath.Join(dir, "plugins")
		if err := os.Rename(filepath.Join(bin, "cnitool"), filepath.Join(dir, "cnitool")); err != nil {
			return err
		}
		return os.Rename(bin, plugins)
	})
}

func key(t testing.TB, dir string, names ...string) string {
	t.Helper()
	parts := []string{runtime.Version(), runtime.GOARCH}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("reading the recipe of an asset: %v", err)
		}
		parts = append(parts, string(content))
	}
	return cache.Key(parts...)
}

// manifests writes files of a module that the module in the source directory pins into one, as
// documents.
func manifests(source, module, pattern, to string) error {
	dir, err := required(source, module, "{{.Dir}}")
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("module %s: %w: %s", module, fs.ErrNotExist, pattern)
	}
	var all []byte
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		all, err = append(append(all, "\n---\n"...), text...), errors.Join(err, readErr)
	}
	return errors.Join(err, os.WriteFile(to, all, 0o644))
}

// take copies a file of a module that the module in the source directory pins.
func take(source, module, path, dir string) error {
	of, err := required(source, module, "{{.Dir}}")
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(of, path))
	if err != nil {
		return fmt.Errorf("reading a file of a module: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, 0o644); err != nil {
		return fmt.Errorf("writing a file of a module: %w", err)
	}
	return nil
}

// required is what a template of `go list -m` says of a module that the module in the source
// directory pins.
func required(source, module, template string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", template, module)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking for %s of %s: %w", template, module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func run(dir string, environment []string, name string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), name, args...) // not the test's: half a build would be lost
	cmd.Dir = dir
	// A compiler ends before its garbage matters: to collect it is a quarter of what it computes.
	// The last word counts.
	cmd.Env = slices.Concat(os.Environ(), []string{"CGO_ENABLED=0", "GOWORK=off", "GOGC=off", "GOMEMLIMIT=1GiB"}, environment)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
