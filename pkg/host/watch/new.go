package watch

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Options says which host to watch.
type Options struct {
	Root    string // put before every path; "/": the running host; an image: only files
	Sandbox bool   // in a sandbox: the modules and units are those of the host
}

// New returns a watcher that watches nothing yet. Each [Watcher.Set] opens sockets in the network
// namespace of its calling thread. The caller must close the watcher.
func New(opt Options) *Watcher {
	w := &Watcher{events: make(chan struct{}, 1), pending: map[Source]*Event{}, unwatched: map[Source]error{}}
	files := newFileWatch(w, opt)
	w.sources = []source{files}
	if sys.IsLive(opt.Root) {
		w.ways = &nextHops{last: map[netip.Addr]string{}}
		w.sources = append(w.sources, newRouteWatch(w), newNFTWatch(w), newMountWatch(w, files, opt),
			&clockWatch{listener{w: w, source: Clock}})
		if !opt.Sandbox {
			w.sources = append(w.sources, newModuleWatch(w), newUnitWatch(w, files.again))
		}
	}
	return w
}
