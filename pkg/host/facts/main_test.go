package facts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// sourcesOf opens the readers of a host, without its systemd.
func sourcesOf(t testing.TB, opt Options) *Sources {
	t.Helper()
	files, err := hostfs.Open(hostfs.Options{Root: opt.Root})
	noError(t, err)
	live := opt.live()
	s := NewSources(files, kernel.Open(live), rtnl.Open(live), firewall.Open(live), systemd.Open(false), opt)
	t.Cleanup(func() { noError(t, s.net.Close(), s.files.Close()) })
	return s
}

// gathered returns the facts of a host.
func gathered(t testing.TB, opt Options) *Facts {
	t.Helper()
	f, err := Gather(t.Context(), sourcesOf(t, opt))
	noError(t, err)
	return f
}

func noError(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// write writes a file with its parents.
func write(t testing.TB, path, content string) {
	t.Helper()
	noError(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
}

// fakeKernel returns a kernel with these files.
func fakeKernel(t *testing.T, files map[string]string) *kernel.Reader {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"/proc", "/sys/module", "/lib/6.1.0"} {
		noError(t, os.MkdirAll(dir+d, 0o755))
	}
	for path, content := range files {
		write(t, dir+path, content)
	}
	return &kernel.Reader{Live: true, Proc: dir + "/proc", Sys: dir + "/sys", Lib: dir + "/lib", Release: "6.1.0"}
}
