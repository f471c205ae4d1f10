package host

import "github.com/netwright/netwright/pkg/host/rooms"

type View struct { // want `Absent is not over the bound: remove its line` `Mended is not over the bound`
	Facts  *rooms.Facts
	Full   rooms.Full
	Over   rooms.Over // want `Over has 7 methods, at most 6`
	Kept   rooms.Over
	Mended rooms.Full
	Own    interface{ rooms.Over } // want `Own has 7 methods`
}
