// Command etcd uses the code of the published etcd to read snapshots and to make one.
//
//	etcd read SNAPSHOT              prints what etcd finds in the file and in a member that is restored from it, as JSON
//	etcd save WRITES.json SNAPSHOT  starts a member, writes the objects, and saves a snapshot as `etcdctl snapshot save` does
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const (
	memberName = "conformance"
	// advertised is the address that the member has in the list of members. Nothing listens there. It is constant, so that the ids of the member and of its cluster are.
	advertised = "http://127.0.0.1:2380"
	limit      = 30 * time.Second
)

// found is what etcd reads in a snapshot.
type found struct {
	// Etcd is the version of etcd.
	Etcd   string          `json:"etcd"`
	Status snapshot.Status `json:"status"`
	// Revision of the restored member, before anything is written.
	Revision int64 `json:"revision"`
	// Written tells that the restored member stores a new key under the next revision.
	Written bool   `json:"written"`
	Keys    []pair `json:"keys"`
}

type pair struct {
	Key      string          `json:"key"`
	Revision int64           `json:"revision"`
	Value    json.RawMessage `json:"value"`
}

// start starts a member of a cluster of one on free ports of the loopback interface.
func start(folder string) (*embed.Etcd, *clientv3.Client, error) {
	free := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	peer, err := url.Parse(advertised)
	if err != nil {
		return nil, nil, err
	}

	config := embed.NewConfig()
	config.Name = memberName
	config.Dir = folder
	config.LogLevel = "fatal"
	config.ListenPeerUrls = []url.URL{free}
	config.ListenClientUrls = []url.URL{free}
	config.AdvertisePeerUrls = []url.URL{*peer}
	config.AdvertiseClientUrls = []url.URL{*peer}
	config.InitialCluster = memberName + "=" + advertised

	member, err := embed.StartEtcd(config)
	if err != nil {
		return nil, nil, err
	}

	select {
	case <-member.Server.ReadyNotify():
	case err = <-member.Err():
	case <-time.After(limit):
		err = fmt.Errorf("the member is not ready after %s", limit)
	}
	if err != nil {
		member.Close()

		return nil, nil, err
	}

	client, err := clientv3.New(endpoint(member))
	if err != nil {
		member.Close()
	}

	return member, client, err
}

func endpoint(member *embed.Etcd) clientv3.Config {
	return clientv3.Config{Endpoints: []string{member.Clients[0].Addr().String()}, DialTimeout: limit, Logger: zap.NewNop()}
}

// read checks a snapshot with etcd's own code, restores a member from it, and lists its keys.
func read(ctx context.Context, file string) (result found, err error) {
	manager := snapshot.NewV3(zap.NewNop())
	result.Etcd = version.Version

	if result.Status, err = manager.Status(file); err != nil {
		return result, fmt.Errorf("status: %w", err)
	}

	folder, err := os.MkdirTemp("", "etcd-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(folder)

	data := filepath.Join(folder, "data")
	// The restore checks the hash at the end of the file.
	if err = manager.Restore(snapshot.RestoreConfig{
		SnapshotPath:   file,
		Name:           memberName,
		OutputDataDir:  data,
		PeerURLs:       []string{advertised},
		InitialCluster: memberName + "=" + advertised,
	}); err != nil {
		return result, fmt.Errorf("restore: %w", err)
	}

	member, client, err := start(data)
	if err != nil {
		return result, fmt.Errorf("start: %w", err)
	}
	defer member.Close()
	defer client.Close()

	listed, err := client.Get(ctx, "/registry/", clientv3.WithPrefix())
	if err != nil {
		return result, fmt.Errorf("list: %w", err)
	}

	result.Revision = listed.Header.Revision
	for _, kv := range listed.Kvs {
		result.Keys = append(result.Keys, pair{Key: string(kv.Key), Revision: kv.ModRevision, Value: json.RawMessage(kv.Value)})
	}

	put, err := client.Put(ctx, "/registry/written-after-the-restore", "{}")
	if err != nil {
		return result, fmt.Errorf("write: %w", err)
	}

	result.Written = put.Header.Revision == result.Revision+1

	return result, nil
}

// write is one change of a key: its new value, or null for a deletion.
type write struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// save starts a new member, applies the writes one after another, and saves a snapshot with its hash.
func save(ctx context.Context, writesFile, file string) error {
	text, err := os.ReadFile(writesFile)
	if err != nil {
		return err
	}

	var writes []write
	if err = json.Unmarshal(text, &writes); err != nil {
		return err
	}

	folder, err := os.MkdirTemp("", "etcd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	member, client, err := start(filepath.Join(folder, "data"))
	if err != nil {
		return err
	}
	defer member.Close()
	defer client.Close()

	for _, one := range writes {
		if err = apply(ctx, client, one); err != nil {
			return fmt.Errorf("%s: %w", one.Key, err)
		}
	}

	_, err = snapshot.NewV3(zap.NewNop()).Save(ctx, endpoint(member), file)

	return err
}

func apply(ctx context.Context, client *clientv3.Client, one write) error {
	if string(one.Value) == "null" {
		_, err := client.Delete(ctx, one.Key)

		return err
	}

	// Kubernetes stores JSON without spaces, and a line break after it.
	var value bytes.Buffer
	if err := json.Compact(&value, one.Value); err != nil {
		return err
	}

	value.WriteByte('\n')
	_, err := client.Put(ctx, one.Key, value.String())

	return err
}

func run(ctx context.Context, arguments []string) error {
	switch {
	case len(arguments) == 2 && arguments[0] == "read":
		result, err := read(ctx, arguments[1])
		if err != nil {
			return err
		}

		return json.NewEncoder(os.Stdout).Encode(result)
	case len(arguments) == 3 && arguments[0] == "save":
		return save(ctx, arguments[1], arguments[2])
	default:
		return errors.New("usage: etcd read SNAPSHOT | etcd save WRITES.json SNAPSHOT")
	}
}

func main() {
	// Turns on the checks that etcd has of its own data.
	if err := os.Setenv("ETCD_VERIFY", "all"); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 4*limit)
	defer cancel()

	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
