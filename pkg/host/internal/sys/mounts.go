package sys

import (
	"bytes"
	"iter"
	"strings"
)

// Mounts iterates over the mount points in mountinfo with the types of their file systems. A later
// mount hides an earlier one.
// https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo
func Mounts(mountinfo []byte) iter.Seq2[string, string] {
	return func(yield func(point, fstype string) bool) {
		for line := range bytes.Lines(mountinfo) {
			// id parent major:minor root point options [tags…] - type source options
			left, right, _ := strings.Cut(string(line), " - ")
			fields := strings.Split(left, " ")
			fstype, _, ok := strings.Cut(right, " ")
			if ok && len(fields) > 4 && !yield(UnescapeMount(fields[4]), fstype) {
				return
			}
		}
	}
}
