package testpod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/netns"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bridged writes a conf of the bridge network and returns the options of a pod for it.
func bridged(t *testing.T, name string) Options {
	dir := t.TempDir()
	conf := `{"cniVersion":"1.0.0","name":"netwright-test","plugins":[
		{"type":"bridge","bridge":"cbr0","isGateway":true,"hairpinMode":true,"mtu":1450,"ipam":{"type":"host-local","dataDir":"` + dir + `/leases",
			"ranges":[[{"subnet":"10.96.1.0/24"}],[{"subnet":"fd00:96:1::/64"}]],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}]}},
		{"type":"portmap","capabilities":{"portMappings":true},"backend":"nftables"}]}`
	ok(t, os.WriteFile(filepath.Join(dir, "05-test.conflist"), []byte(conf), 0o600))
	ok(t, os.WriteFile(filepath.Join(dir, "99-other.conflist"), []byte("not read"), 0o600))
	// Names of network namespaces are the same for the whole machine.
	return Options{Name: fmt.Sprintf("%s-%d", name, os.Getpid()), ConfDir: dir, BinDirs: []string{assets.CNIPlugins(t)}}
}

func TestTwoPodsTalk(t *testing.T) {
	node := netns.New(t)
	node.Do(func() {
		h, err := host.Open(t.Context(), host.Options{Root: "/"})
		ok(t, err)
		defer h.Close()
		opt := bridged(t, "talk")
		var pods []*Pod
		for i := range 2 {
			one := opt
			one.Name += fmt.Sprint("-", i)
			if i == 0 {
				one.PortMappings = []PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}
			}
			p, err := Add(t.Context(), h, one)
			ok(t, err)
			defer func() {
				if err := p.Remove(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}()
			pods = append(pods, p)
		}
		for i, p := range pods {
			if len(p.Addresses) != 2 || len(p.Gateways) != 2 || p.Network != "netwright-test" || filepath.Base(p.ConfFile) != "05-test.conflist" {
				t.Fatalf("got %+v", p)
			}
			if shown := node.Run("nsenter", "--net="+p.NetNS, "ip", "addr", "show", "eth0"); !strings.Contains(shown, p.Addresses[0].String()) || !strings.Contains(shown, "mtu 1450") {
				t.Errorf("eth0 of the pod: %s", shown)
			}
			for family := range 2 {
				for _, to := range []netip.Addr{pods[1-i].Addresses[family].Addr(), p.Gateways[family]} {
					if _, err := p.Ping(t.Context(), to); err != nil {
						t.Error(err)
					}
				}
			}
		}
		reachable(t, pods[0], "10.96.1.1:8080")
		ok(t, pods[0].Remove(t.Context()))
		ok(t, pods[0].Remove(t.Context()))
		if _, err := os.Stat(pods[0].NetNS); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the pod's namespace is still there: %v", err)
		}
	})
}

// reachable serves port 80 in the pod, and connects to it from the node by a port of the host.
func reachable(t *testing.T, p *Pod, hostPort string) {
	t.Helper()
	var server net.Listener
	ok(t, rtnl.InNetNS(p.NetNS, func() error {
		var err error
		server, err = net.Listen("tcp", ":80")
		return err
	}))
	defer server.Close()
	go func() {
		if c, err := server.Accept(); err == nil {
			_, _ = c.Write([]byte("pod"))
			_ = c.Close()
		}
	}()
	c, err := net.DialTimeout("tcp", hostPort, time.Minute)
	if err != nil {
		t.Errorf("the pod's port is not one of the host: %v", err)
		return
	}
	defer c.Close()
	answer := make([]byte, 3)
	if _, err := c.Read(answer); err != nil || string(answer) != "pod" {
		t.Errorf("the answer: %q, %v; want \"pod\"", answer, err)
	}
}

func TestAddPodThatFailsLeavesNothing(t *testing.T) {
	node := netns.New(t)
	node.Do(func() {
		h, err := host.Open(t.Context(), host.Options{Root: "/"})
		ok(t, err)
		defer h.Close()
		for want, spoil := range map[string]func(*Options){
			"no CNI conf in":         func(o *Options) { o.ConfDir = t.TempDir() },
			"find CNI plugin bridge": func(o *Options) { o.BinDirs = []string{t.TempDir()} },
			"05-test.conflist": func(o *Options) {
				ok(t, os.WriteFile(filepath.Join(o.ConfDir, "05-test.conflist"), []byte(`{"name":"x","plugins":[`), 0o600))
			},
			"plugin bridge: invalid CIDR address: nonsense": func(o *Options) { // the plugin's own text
				file := filepath.Join(o.ConfDir, "05-test.conflist")
				text, err := os.ReadFile(file)
				ok(t, err)
				ok(t, os.WriteFile(file, []byte(strings.Replace(string(text), "10.96.1.0/24", "nonsense", 1)), 0o600))
			},
		} {
			opt := bridged(t, "fail")
			spoil(&opt)
			if _, err := Add(t.Context(), h, opt); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q: %v", want, err)
			}
			if _, err := os.Stat("/run/netns/netwright-" + opt.Name); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the namespace is still there: %v", want, err)
			}
		}
	})
}

func TestConfOfOnePluginIsAList(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "20-later.conflist"), []byte("not read"), 0o600))
	ok(t, os.WriteFile(filepath.Join(dir, "10-one.conf"), []byte(`{"cniVersion":"0.3.1","name":"one","type":"ptp","mtu":1400}`), 0o600))
	file, list, err := LoadConf(dir)
	ok(t, err)
	if filepath.Base(file) != "10-one.conf" || list.Name != "one" || list.CNIVersion != "0.3.1" || len(list.Plugins) != 1 || list.Plugins[0].Network.Type != "ptp" {
		t.Errorf("LoadConf returns %s, %+v", file, list)
	}
}
