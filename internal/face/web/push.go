package web

import "net/http"

// Push tells the browsers of a user of open questions.
type Push struct{}

func (p *Push) routes(*http.ServeMux) {}
