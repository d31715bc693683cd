package tool

import (
	"errors"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// NetworkAccessName is Claude Code's name for the question whether a confined command may reach a host. It is no tool
// that a model could call; rules name it.
const NetworkAccessName = "SandboxNetworkAccess"

var networkAccess = call.Declaration{
	Name: NetworkAccessName, Params: map[string]string{"host": "domain"},
	Subject: permission.SubjectHost, SubjectIn: []string{"host"}, Accesses: call.Typed(hostAccesses),
}

func hostAccesses(in struct {
	Host string `json:"host"`
}, _ call.Place,
) ([]permission.Access, error) {
	if in.Host == "" {
		return nil, errors.New("there is no host")
	}
	return []permission.Access{permission.NetAccess(in.Host)}, nil
}
