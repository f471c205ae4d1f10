// Command launch runs a program and prints its cost: wall, user and system time in nanoseconds,
// peak resident memory of its largest process in KiB, exit status, and the processor time of all
// other processes meanwhile (in nanoseconds, from the kernel's ticks of 10 ms).
//
// It is small and imports almost nothing on purpose. The kernel counts the peak memory of a child
// from that of the process that forked it, so a launcher as big as a test binary would hide every
// smaller value.
package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// settle is a pause in which the service manager finishes the start of this process.
const settle = 50 * time.Millisecond

func main() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil || len(os.Args) < 3 {
		os.Stderr.WriteString("usage: launch LOG PROGRAM ARG...\n")
		os.Exit(2)
	}
	log, err := syscall.Open(os.Args[1], syscall.O_CREAT|syscall.O_TRUNC|syscall.O_WRONLY|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		os.Stderr.WriteString("launch: opening the log: " + err.Error() + "\n")
		os.Exit(2)
	}
	attributes := &syscall.ProcAttr{Dir: "/", Files: []uintptr{uintptr(null), uintptr(log), uintptr(log)},
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}}
	time.Sleep(settle)
	before := busy()
	start := time.Now()
	pid, err := syscall.ForkExec(os.Args[2], os.Args[2:], attributes)
	if err != nil {
		os.Stderr.WriteString("launch " + os.Args[2] + ": " + err.Error() + "\n")
		os.Exit(127)
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		if _, err = syscall.Wait4(pid, &status, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	wall := time.Since(start)
	others := busy() - before - usage.Utime.Nano() - usage.Stime.Nano()
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	os.Stdout.WriteString(`{"wall":` + strconv.FormatInt(wall.Nanoseconds(), 10) +
		`,"user":` + strconv.FormatInt(usage.Utime.Nano(), 10) +
		`,"system":` + strconv.FormatInt(usage.Stime.Nano(), 10) +
		`,"others":` + strconv.FormatInt(max(others, 0), 10) +
		`,"peak":` + strconv.FormatInt(usage.Maxrss, 10) +
		`,"code":` + strconv.Itoa(code) + "}\n")
}

// busy returns how long all processors have worked since the boot, in nanoseconds: the first line
// of /proc/stat without idle, iowait and guest, which is part of user.
func busy() int64 {
	var buf [512]byte
	fd, err := syscall.Open("/proc/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	n, _ := syscall.Read(fd, buf[:])
	var ticks, value int64
	field := 0
	for _, c := range buf[5:max(n, 5)] { // behind "cpu  "
		if c >= '0' && c <= '9' {
			value = value*10 + int64(c-'0')
			continue
		}
		if field < 8 && field != 3 && field != 4 {
			ticks += value
		}
		value = 0
		if field++; c == '\n' {
			break
		}
	}
	return ticks * 10_000_000
}
