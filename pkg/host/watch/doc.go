// Package watch notices changes to what a pass is interested in: files by inotify, the network and
// nft by netlink, mounts, modules, units and the clock. A [Watcher] only says where to look again.
package watch
