package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const (
	loopback = "127.0.0.1"
	self     = "active" // the one cluster
)

// server is a running Temporal server; it takes no orders.
type server struct{ temporal.Server }

// Start implements contender.Engine.
func (server) Start(context.Context, string, int) error { return errors.ErrUnsupported }

// Wait implements contender.Engine.
func (server) Wait(context.Context, string) error { return errors.ErrUnsupported }

// Close implements contender.Engine.
func (s server) Close() error { return s.Stop() }

func serve(dir string, quick bool) (server, error) {
	ports, err := ownPorts(filepath.Join(dir, "ports"))
	if err != nil {
		return server{}, err
	}
	address := fmt.Sprintf("%s:%d", loopback, ports[0])
	db := &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: filepath.Join(dir, "temporal.db"),
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "2"}}
	if _, err := os.Stat(db.DatabaseName); errors.Is(err, fs.ErrNotExist) {
		if err := sqlite.SetupSchema(db); err != nil {
			return server{}, fmt.Errorf("schema: %w", err)
		}
	}
	ns, err := sqlite.NewNamespaceConfig(self, namespace, false, nil)
	if err != nil {
		return server{}, err
	}
	if err := sqlite.CreateNamespaces(db, ns); err != nil {
		return server{}, fmt.Errorf("namespace: %w", err)
	}
	limits := dynamicconfig.StaticClient{}
	if quick {
		for _, k := range []dynamicconfig.Key{dynamicconfig.TransferProcessorMaxPollRPS.Key(), dynamicconfig.TimerProcessorMaxPollRPS.Key(),
			dynamicconfig.VisibilityProcessorMaxPollRPS.Key(), dynamicconfig.OutboundProcessorMaxPollRPS.Key()} {
			limits[k] = []dynamicconfig.ConstrainedValue{{Value: 10_000}}
		}
	}
	s, err := temporal.NewServer(temporal.WithConfig(settings(db, ports)), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()), temporal.WithDynamicConfigClient(limits),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }))
	if err != nil {
		return server{}, err
	}
	if err := s.Start(); err != nil {
		return server{}, err
	}
	if err := reachable(address); err != nil {
		return server{}, err
	}
	return server{s}, os.WriteFile(filepath.Join(dir, "address"), []byte(address), 0o644)
}

// settings are those of a server with all services in one process.
func settings(db *config.SQL, ports []int) *config.Config {
	services := map[string]config.Service{}
	for i, name := range []string{"frontend", "history", "matching", "worker"} {
		services[name] = config.Service{RPC: config.RPC{GRPCPort: ports[i], MembershipPort: ports[i+4], BindOnIP: loopback}}
	}
	address := fmt.Sprintf("%s:%d", loopback, ports[0])
	const off = "disabled"
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback}},
		Persistence: config.Persistence{DefaultStore: "file", VisibilityStore: "file", NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{"file": {SQL: db}}},
		ClusterMetadata: &cluster.Config{FailoverVersionIncrement: 10, MasterClusterName: self, CurrentClusterName: self,
			ClusterInformation: map[string]cluster.ClusterInformation{self: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}}},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival:            config.Archival{History: config.HistoryArchival{State: off}, Visibility: config.VisibilityArchival{State: off}},
		PublicClient:        config.PublicClient{HostPort: address},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: off}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: off}}},
	}
}

// ownPorts returns ports that nobody listened on when the server began for the
// first time. They stay the same: the database names the members of the
// cluster, and a server that comes back elsewhere waits for its former self.
func ownPorts(path string) (ports []int, err error) {
	if text, err := os.ReadFile(path); err == nil {
		return ports, json.Unmarshal(text, &ports)
	}
	for range 8 {
		l, err := net.Listen("tcp", loopback+":0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	text, err := json.Marshal(ports)
	if err != nil {
		return nil, err
	}
	return ports, os.WriteFile(path, text, 0o644)
}

// reachable waits until somebody listens.
func reachable(address string) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("server: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
