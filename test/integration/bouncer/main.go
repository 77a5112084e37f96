// A bouncer made with CrowdSec's own library: prints what it gets, a line of JSON each.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	csbouncer "github.com/crowdsecurity/go-cs-bouncer"
)

func main() {
	url, key, address := os.Args[1], os.Args[2], os.Args[3]
	live := &csbouncer.LiveBouncer{APIKey: key, APIUrl: url}
	if err := live.Init(); err != nil {
		fail(err)
	}
	found, err := live.Get(address)
	if err != nil {
		fail(err)
	}
	print("live", found)
	stream := &csbouncer.StreamBouncer{APIKey: key, APIUrl: url, TickerInterval: "500ms", UserAgent: "weir-test/1.0"}
	if err := stream.Init(); err != nil {
		fail(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	go stream.Run(ctx)
	for decisions := range stream.Stream {
		if len(decisions.New)+len(decisions.Deleted) > 0 {
			print("stream", decisions)
		}
	}
	fail(fmt.Errorf("the stream has ended"))
}

func print(kind string, value any) {
	line, err := json.Marshal(map[string]any{"kind": kind, "value": value})
	if err != nil {
		fail(err)
	}
	fmt.Println(string(line))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
