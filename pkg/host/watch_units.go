package host

// unitWatch hears systemd of units.
type unitWatch struct{ signals *UnitSignals }

func newUnitWatch(w *Watcher, relinked func()) *unitWatch {
	return &unitWatch{&UnitSignals{
		Units: openUnits(true), Files: relinked,
		Changed: func(what string) { w.wake(WakeUnits, what, false) },
		Lost:    func(err error) { w.lose(WakeUnits, err) },
	}}
}

func (u *unitWatch) name() WakeSource { return WakeUnits }

func (u *unitWatch) set(i *Interest) error { return u.signals.Listen(i.Units) }

func (u *unitWatch) close() error { return u.signals.Close() }
