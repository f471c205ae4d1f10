// Package watch hears of changes to what a pass is interested in: files by inotify, the network and
// nft by netlink, mounts, modules and units. A [Watcher] only says where to look again.
package watch
