package watch

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Options says what is watched.
type Options struct {
	Root    string // before every path; "/" for the running host, of which more than files is watched
	Sandbox bool   // the process is in namespaces of its own: modules and units are not its own
}

// New makes a watcher that listens for nothing yet. Sockets are of the calling thread's network
// namespace as of each [Watcher.Set]. The caller closes it.
func New(opt Options) *Watcher {
	w := &Watcher{events: make(chan struct{}, 1), pending: map[Source]*Event{}, unwatched: map[Source]error{}}
	files := newFileWatch(w, opt)
	w.sources = []source{files}
	if sys.IsLive(opt.Root) {
		w.ways = &nextHops{last: map[netip.Addr]string{}}
		w.sources = append(w.sources, newRouteWatch(w), newNFTWatch(w), newMountWatch(w, files), &clockWatch{w: w})
		if !opt.Sandbox {
			w.sources = append(w.sources, newModuleWatch(w), newUnitWatch(w, files.again))
		}
	}
	return w
}
