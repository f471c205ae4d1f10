package toxic

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"
)

// Status answers with a status and no object. after is Retry-After in seconds; with 0 the answer
// has no such header.
func Status(code, after int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(after))
		}
		http.Error(w, "no", code)
	}
}

// Late answers after a delay.
func Late(by time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		time.Sleep(by)
		honest.ServeHTTP(w, r)
	}
}

// Reset resets the connection before the answer.
func Reset(w http.ResponseWriter, _ *http.Request, _ http.Handler) { reset(w) }

// Half announces the whole length of a body, sends half of it, and resets the connection.
func Half(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	reset(w)
}

// Short sends half of a body as if it were the whole body.
func Short(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)/2))
	_, _ = w.Write(body[:len(body)/2])
}

// Long sends more bytes than any object may have, without a length.
func Long(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	for range 5 << 20 / (len(body) + 1) {
		if _, err := w.Write(body); err != nil {
			return
		}
	}
}

// Swapped sends other bytes of the same length, with the same ETag.
func Swapped(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	for i := range body {
		body[i] ^= 1
	}
	_, _ = w.Write(body)
}

// Unmodified answers every request with 304.
func Unmodified(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusNotModified)
}

// NewETags gives a new ETag with each answer, and ignores the ETags of requests.
func NewETags(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Set("ETag", fmt.Sprintf("\"%d\"", time.Now().UnixNano()))
	_, _ = w.Write(body)
}

// NoETags gives no ETags.
func NoETags(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Del("ETag")
	_, _ = w.Write(body)
}

// Portal answers with the page of a network that wants a person to log in.
func Portal(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<html><body>Welcome to the hotel</body></html>")
}

// Elsewhere redirects to another place.
func Elsewhere(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, to, http.StatusFound)
	}
}

// Objects applies a fault to everything except the manifest.
func Objects(f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if len(r.URL.Path) > len("/manifest") && r.URL.Path[len(r.URL.Path)-len("/manifest"):] == "/manifest" {
			honest.ServeHTTP(w, r)
			return
		}
		f(w, r, honest)
	}
}

// taken is the body of the honest answer to a request without a condition, whose headers w gets.
func taken(w http.ResponseWriter, r *http.Request, honest http.Handler) []byte {
	rec := httptest.NewRecorder()
	all := r.Clone(r.Context())
	all.Header.Del("If-None-Match")
	honest.ServeHTTP(rec, all)
	for name, values := range rec.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	return rec.Body.Bytes()
}

// Instead answers from another handler: another store, or an earlier state of this store.
func Instead(other http.Handler) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { other.ServeHTTP(w, r) }
}

// S3 answers with an error of S3, and with headers given as pairs of name and value.
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html#RESTErrorResponses
func S3(status int, code, message string, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/xml")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}
}
