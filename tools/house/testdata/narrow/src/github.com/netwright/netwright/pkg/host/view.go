package host

import "github.com/netwright/netwright/pkg/host/parts"

type View struct { // want `Absent is not over the bound: remove its line` `Mended is not over the bound`
	Facts  *parts.Facts
	Full   parts.Full
	Over   parts.Over // want `Over has 7 methods, at most 6`
	Kept   parts.Over
	Mended parts.Full
	Own    interface{ parts.Over } // want `Own has 7 methods`
}
