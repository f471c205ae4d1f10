// Command keeper repairs one file, sysctl, link or route whenever somebody changes it: the least
// that a daemon has to do. It reads the wanted state at its start, and has no ledger, no plan and
// no journal. Its reaction time is the lower limit for that of the agent. It is not part of
// bench/limit, because netlink would make that slower to start.
//
//	keeper file|sysctl PATH
//	keeper link NAME
//	keeper route "PREFIX via GATEWAY"
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// rest is how long it waits for further events of one change, as the agent does.
const rest = 300 * time.Microsecond

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: keeper file|sysctl PATH | link NAME | route \"PREFIX via GATEWAY\"")
		os.Exit(2)
	}
	if err := keep(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		os.Exit(1)
	}
}

// keep runs until the process is ended.
func keep(kind, what string) error {
	events := make(chan struct{}, 1)
	hear := func() {
		select {
		case events <- struct{}{}:
		default: // an event is in the channel already
		}
	}
	keeper := map[string]func(what string, hear func()) (repair func() error, err error){
		"file": keepFile, "sysctl": keepSysctl, "link": keepLink, "route": keepRoute}[kind]
	if keeper == nil {
		return fmt.Errorf("keep file, sysctl, link or route, not %q", kind)
	}
	repair, err := keeper(what, hear)
	if err != nil {
		return fmt.Errorf("keeping %s %s: %w", kind, what, err)
	}
	for range events {
		left := unix.NsecToTimespec(int64(rest))
		for unix.Nanosleep(&left, &left) == unix.EINTR {
		}
		if err := repair(); err != nil {
			return fmt.Errorf("putting %s right: %w", what, err)
		}
	}
	return nil
}

func keepFile(path string, hear func()) (func() error, error) {
	return keepContent(path, filepath.Dir(path), unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_DELETE, hear, func(want []byte) error {
		f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		defer f.Close() // Sync has reported the errors of writing
		if _, err := f.Write(want); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		return os.Rename(f.Name(), path)
	})
}

func keepSysctl(path string, hear func()) (func() error, error) {
	return keepContent(path, path, unix.IN_CLOSE_WRITE, hear,
		func(want []byte) error { return os.WriteFile(path, want, 0) })
}

// keepContent watches a file with inotify on the path at.
func keepContent(path, at string, events uint32, hear func(), write func(want []byte) error) (func() error, error) {
	want, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if _, err := unix.InotifyAddWatch(fd, at, events); err != nil {
		return nil, err
	}
	go func() {
		for room := make([]byte, 4096); ; hear() {
			if n, err := unix.Read(fd, room); err != nil && err != unix.EINTR || n == 0 {
				return
			}
		}
	}()
	return func() error {
		if is, err := os.ReadFile(path); err == nil && bytes.Equal(is, want) {
			return nil
		}
		return write(want)
	}, nil
}

func keepLink(name string, hear func()) (func() error, error) {
	updates := make(chan netlink.LinkUpdate, 64)
	if err := netlink.LinkSubscribe(updates, nil); err != nil {
		return nil, err
	}
	want, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	go func() {
		for range updates {
			hear()
		}
	}()
	return func() error {
		is, err := netlink.LinkByName(name)
		if err != nil || is.Attrs().MTU == want.Attrs().MTU {
			return err
		}
		return netlink.LinkSetMTU(is, want.Attrs().MTU)
	}, nil
}

// keepRoute keeps a route of the agent: "PREFIX via GATEWAY".
func keepRoute(what string, hear func()) (func() error, error) {
	dst, gateway, _ := strings.Cut(what, " via ")
	_, to, err := net.ParseCIDR(dst)
	if err != nil {
		return nil, err
	}
	updates := make(chan netlink.RouteUpdate, 64)
	if err := netlink.RouteSubscribe(updates, nil); err != nil {
		return nil, err
	}
	go func() {
		for range updates {
			hear()
		}
	}()
	want := netlink.Route{Dst: to, Gw: net.ParseIP(gateway), Protocol: rtnl.RouteProtocol}
	return func() error {
		if err := netlink.RouteAdd(&want); !errors.Is(err, unix.EEXIST) {
			return err
		}
		return nil
	}, nil
}
