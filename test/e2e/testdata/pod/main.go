// Command pod is what runs in the pods of tests: `pod serve` answers HTTP with its host name and who asks, `pod get URL` asks and says the answer.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 2 && args[0] == "get" {
		return get(args[1])
	}
	return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _ := os.Hostname()
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprintln(w, host, from)
	}))
}

// get asks once. Whoever waits for a service to come asks again.
func get(url string) error {
	answer, err := (&http.Client{Timeout: 3 * time.Second}).Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}
