package tasks

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// oneFile returns the same file for every path.
type oneFile struct {
	hostfs.Files
	content []byte
}

func (v oneFile) Lstat(string) (hostfs.FileInfo, error) {
	return hostfs.FileInfo{Type: hostfs.Regular, Size: int64(len(v.content))}, nil
}

func (v oneFile) ReadFile(string) ([]byte, error) { return v.content, nil }

func (v oneFile) ReadEnds(string, int) (begin, end []byte, err error) {
	return v.content, v.content, nil
}

func (v oneFile) ReadDir(string) ([]string, error) { return nil, host.ErrNotExist }

// FuzzConf reads any bytes that somebody may put into the CNI directory. A file that counts as a
// conf has plugins with types.
func FuzzConf(f *testing.F) {
	for _, s := range []string{
		`{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"bridge","ipam":{"type":"host-local"}},{"type":"portmap"}]}`, `{"name":"n","type":"multus","delegates":[]}`,
		`{"name":"n","plugins":[]}`, `{"name":"n","plugins":[null]}`, `{"name":1}`, `[]`, `null`, "", "{", `{"name":"n","plugins":[{"type":"../../bin/sh"}]}`, `{"NAME":"n","Plugins":[{"TYPE":"a"}]}`,
		strings.Repeat("[", 20000), "\xff\xfe", `{"name":"\ud800","plugins":[{"type":"\u0000"}]}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, list bool) {
		name := "/etc/cni/net.d/10-x.conf"
		if list {
			name += "list"
		}
		conf, err := WaitConf{Consumer: Consumer{LoadsPluginDir: true}}.readConf(host.View{Files: oneFile{content: content}}, name)
		if err != nil {
			return
		}
		if len(conf.Plugins) == 0 {
			t.Fatalf("taken for a conf: %+v", conf)
		}
		for _, p := range conf.Plugins {
			if p.Type == "" {
				t.Fatalf("a plugin without a type: %+v", conf)
			}
		}
		for _, program := range conf.Programs() {
			binary := program.Name
			if strings.Contains(binary, "/") {
				t.Fatalf("a binary that leads out of its directory: %q", binary)
			}
		}
		conf.delegates()
	})
}
