package hostfs

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
)

// Ahead reads files for their digests before somebody asks, beside what is to be looked at first.
// What it read serves once, and only for a file that is as it was: who changes one has it read
// again. A nil one has read nothing.
type Ahead struct {
	files   *Reader
	readers sync.WaitGroup

	mu   sync.Mutex
	next []string             // yet to be read
	read map[string]*aheadSum // under way, or over, and not asked for
}

// aheadSum is what was read of a file.
type aheadSum struct {
	ended chan struct{}
	info  FileInfo // as it was before; the zero one: it could not be read
	sum   Digest
}

// ReadAhead begins to read files, the largest first, on all processors but the one that the caller
// goes on with. What cannot be read is left to who asks. The caller closes it.
func ReadAhead(opt Options, names []string) *Ahead {
	opt.Stamps, opt.Ahead = nil, nil
	files, err := Open(opt)
	if err != nil {
		return nil
	}
	a := &Ahead{files: files, read: map[string]*aheadSum{}}
	sizes := map[string]int64{}
	for _, name := range names {
		if info, err := files.Lstat(name); err == nil && info.Type == Regular {
			sizes[name] = info.Size
			a.next = append(a.next, name)
		}
	}
	slices.SortStableFunc(a.next, func(one, other string) int { return cmp.Compare(sizes[other], sizes[one]) })
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		a.readers.Go(a.run)
	}
	return a
}

// Close ends the reading, after the files that are being read.
func (a *Ahead) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	a.next = nil
	a.mu.Unlock()
	a.readers.Wait()
	return a.files.Close()
}

func (a *Ahead) run() {
	for name, one := a.begin(); one != nil; name, one = a.begin() {
		one.info, one.sum = a.files.settledSum(name)
		close(one.ended)
	}
}

// begin takes the next file; nil: there is none.
func (a *Ahead) begin() (name string, one *aheadSum) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.next) == 0 {
		return "", nil
	}
	name, a.next = a.next[0], a.next[1:]
	one = &aheadSum{ended: make(chan struct{})}
	a.read[name] = one
	return name, one
}

// take is the digest of a file that is as info says, if it was read, or is being read. From then on
// nothing is known of the file.
func (a *Ahead) take(name string, info FileInfo) (Digest, bool) {
	if a == nil {
		return Digest{}, false
	}
	a.mu.Lock()
	one := a.read[name]
	delete(a.read, name)
	a.next = slices.DeleteFunc(a.next, func(next string) bool { return next == name })
	a.mu.Unlock()
	if one == nil {
		return Digest{}, false
	}
	<-one.ended
	return one.sum, one.info == info
}
