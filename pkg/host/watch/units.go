package watch

import "github.com/netwright/netwright/pkg/host/systemd"

// unitWatch watches units by systemd's signals.
type unitWatch struct{ signals *systemd.Signals }

func newUnitWatch(w *Watcher, relinked func()) *unitWatch {
	return &unitWatch{&systemd.Signals{
		Units: systemd.Open(true), Bus: systemd.SystemSocket, Files: relinked,
		Changed: func(what string) { w.trigger(Units, what, false) },
		Lost:    func(err error) { w.lose(Units, err) },
	}}
}

func (u *unitWatch) name() Source { return Units }

func (u *unitWatch) set(i *Interest) error { return u.signals.Listen(i.Units) }

func (u *unitWatch) close() error { return u.signals.Close() }
