// Package syntax highlights source code, line by line.
package syntax
