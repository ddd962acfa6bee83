import CFloor
import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs all requested work in each way, alternating between the floor and this library.
struct Bench {
    let options: Options
    let executable: String
    let report: Results

    /// Failed measurements are reported on standard error at once; the others continue.
    ///
    /// - Returns: Whether everything was measured.
    func run() async -> Bool {
        var isComplete = true
        for _ in 0..<options.passes {
            for cores in [Cores.one, .free] where await !measure(cores) { isComplete = false }
        }
        report.finish()
        return isComplete
    }

    /// Measures the rivals, if any, and all requested works in one placement.
    private func measure(_ cores: Cores) async -> Bool {
        var isComplete = true
        do {
            try place(cores)
            for rival in options.rivals {
                // If a program never ends, the alarm ends this process.
                alarm(300)
                for line in try rival.measure(cores) where options.works.contains(line.work) { report.add(line) }
            }
            let peers = try await Peers(self, cores)
            for work in options.works {
                // The same for a call that never returns.
                alarm(300)
                do {
                    try await measure(work, cores, peers)
                } catch {
                    isComplete = false
                    complain("\(work.rawValue), cores \(cores.rawValue): \(error)")
                }
            }
            await peers.close()
        } catch {
            isComplete = false
            complain("cores \(cores.rawValue): \(error)")
        }
        return isComplete
    }

    private func place(_ cores: Cores) throws {
        try place(core: cores == .one ? floorLastCore() : -1)
    }

    /// - Parameter core: The core; -1 for all.
    private func place(core: CInt) throws {
        let error = floorPlace(core)
        if error != 0 { throw BenchError("the processes cannot be kept on one core here: \(describe(error))") }
    }

    private func measure(_ work: Work, _ cores: Cores, _ peers: Peers) async throws {
        let count = options.scale.count(work)
        switch work {
        case .nullCall:
            for transport in [Transport.socket, .pipe] {
                try await measure(
                    work, transport, cores, peers, metric: "p50_us", { try $0.ping(count: count) },
                    { $0.nullCall(count: count) }, typed: { try $0.typedNullCall(count: count) })
            }
            try measureWords(count, cores)
            if cores == .free { try await measureSpinning(count) }
        case .messageNaming:
            let results = try await interleaved(
                rounds: options.rounds, [{ try MessageNaming.sample(count: count) }])
            for result in results {
                report.add(
                    Line(
                        work: work, via: "typed", transport: .socket, api: .blocking, cores: cores, metric: "ns",
                        value: result,
                        floor: nil
                    ))
            }
        case .callback:
            for transport in [Transport.socket, .pipe] {
                try await measure(
                    work, transport, cores, peers, metric: "p50_us", { try $0.ping(nested: true, count: count) },
                    { $0.callback(count: count) })
            }
        case .pipeline4:
            try await measure(
                work, .socket, cores, peers, metric: "p50_us", { try $0.ping(count: count) },
                { $0.pipeline(depth: 4, count: count) })
        case .exportChurn:
            try await measure(
                work, .socket, cores, peers, metric: "us_per_object", { try $0.ping(count: count) },
                { $0.exportChurn(count: count) })
        case .graph100, .graph10000, .graphView10000:
            // Measured next to the time of a null call, which shows the speed of the machine.
            let calls = options.scale.count(.nullCall)
            try await measure(
                work, .socket, cores, peers, metric: "p50_us", { try $0.ping(count: calls) },
                { $0.graph(foos: work == .graph100 ? 100 : 10_000, asView: work == .graphView10000, count: count) })
        case .inFlight64:
            try await measure(
                work, .socket, cores, peers, metric: "calls_per_s", { try $0.inFlight(window: 64, count: count) },
                { $0.inFlight(window: 64, count: count) })
        case .oneWay:
            try await measure(
                work, .socket, cores, peers, metric: "messages_per_s", { try $0.oneWay(count: count) },
                { $0.oneWay(count: count) })
        case .stream, .streamReferences:
            try await measure(
                work, .socket, cores, peers, metric: "items_per_s",
                { try $0.oneWay(count: options.scale.count(.oneWay)) },
                { work == .stream ? $0.stream(count: count) : $0.streamOfReferences(count: count) })
        case .blob1MiB, .blob64MiB:
            let length = work == .blob1MiB ? 1 << 20 : 64 << 20
            for transport in [Transport.socket, .pipe] {
                try await measure(
                    work, transport, cores, peers, metric: "GB_per_s", { try $0.blob(length: length, count: count) },
                    { $0.blob(length: length, count: count) })
            }
        case .sharedBlob64MiB:
            let length = 64 << 20
            try await measure(
                work, .socket, cores, peers, metric: "GB_per_s",
                { try $0.blob(length: length, count: count, touches: true) },
                { $0.sharedBlob(length: length, count: count) })
        case .jobs3:
            try await measureJobs(count, cores)
        case .connect:
            try await measureConnect(count, cores, peers)
        case .idleConnection:
            // The placement does not affect the memory of the processes.
            if cores == .free { try await measureIdle(count) }
        case .startup:
            try await measureStartup(count, cores)
        }
    }

    private func measure(
        _ work: Work, _ transport: Transport, _ cores: Cores, _ peers: Peers, metric: String,
        _ floor: @escaping (Floor) throws -> Double, _ subject: (Peer) -> Subject,
        typed: ((Peer) throws -> Subject)? = nil
    ) async throws {
        let bare = peers.floors[transport]
        let ours = peers.ours[transport]
        var samplers: [() async throws -> Double] = []
        if let bare { samplers.append({ try floor(bare) }) }
        var ways: [(via: String, api: API)] = []
        if let ours {
            let subjects = [("table", subject(ours))] + (try typed.map { [("typed", try $0(ours))] } ?? [])
            for api in API.allCases {
                for (via, subject) in subjects where api != .blocking || subject.blocking != nil {
                    ways.append((via, api))
                    samplers.append({ try await ours.sample(subject, api) })
                }
            }
        }
        let results = try await interleaved(rounds: options.rounds, samplers)
        guard let floorResult = results.first else { return }
        if options.isFloorOnly { printFloor(work, transport, cores, metric, floorResult) }
        for (way, result) in zip(ways, results.dropFirst()) {
            report.add(
                Line(
                    work: work, via: way.via, transport: transport, api: way.api, cores: cores, metric: metric,
                    value: result,
                    floor: floorResult.median
                ))
        }
    }

    private func printFloor(_ work: Work, _ transport: Transport, _ cores: Cores, _ metric: String, _ value: Figure) {
        report.add(
            Line(
                work: work, via: "floor", transport: transport, api: .blocking, cores: cores, metric: metric,
                value: value,
                floor: value.median
            ))
    }

    /// The floor of shared memory: two words that the sides sleep on, and on two cores also polled ones.
    private func measureWords(_ count: Int, _ cores: Cores) throws {
        var kinds = [(FloorWords, cores)]
        if cores == .free, floorFirstCore() != floorLastCore() { kinds.append((FloorPolledWords, .two)) }
        for (kind, cores) in kinds {
            guard let floor = try? Floor(kind, cores, executable: executable) else { continue }
            _ = try floor.pingWords(count: count)
            let value = Figure(try (0..<options.rounds).map { _ in try floor.pingWords(count: count) })
            report.add(
                Line(
                    work: .nullCall, via: "floor", transport: .words, api: .blocking, cores: cores, metric: "p50_us",
                    value: value, floor: value.median, spins: kind == FloorPolledWords))
        }
    }

    /// Calls between two processes that poll before they sleep, in free placement and on two cores.
    ///
    /// In free placement the floor is the socket, whose processes sleep at once; on two cores it is two words in shared
    /// memory, polled.
    private func measureSpinning(_ count: Int) async throws {
        guard !options.isFloorOnly else { return }
        for cores in [Cores.free, .two] {
            let last = floorLastCore()
            if cores == .two {
                guard last > 0 else { continue }
                try place(core: 0)
            }
            let bare = try Floor(FloorSocket, cores, executable: executable)
            let peer = try await Peer.launch(executable, over: .socket, spins: true)
            if cores == .two { try place(core: last) }
            let subject = peer.nullCall(count: count)
            let results = try await interleaved(
                rounds: options.rounds,
                [
                    {
                        guard cores == .two else { return try bare.ping(count: count) }
                        // Its other process polls without end on a core of ours, so it ends before ours are measured.
                        try self.place(core: -1)
                        defer { try? self.place(core: last) }
                        return try Floor(FloorPolledWords, cores, executable: executable).pingWords(count: count)
                    }
                ]
                    + API.allCases.map { api in { try await peer.sample(subject, api) } })
            for (api, result) in zip(API.allCases, results.dropFirst()) {
                report.add(
                    Line(
                        work: .nullCall, transport: .socket, api: api, cores: cores, metric: "p50_us", value: result,
                        floor: results.first?.median, spins: true
                    ))
            }
            await peer.connection.close()
            try place(core: -1)
        }
    }

    private func measureConnect(_ count: Int, _ cores: Cores, _ peers: Peers) async throws {
        guard let bare = peers.floors[.socket] else { return }
        var samplers: [() async throws -> Double] = [{ try bare.connect(count: count) }]
        var place: SocketPlace?
        if let peer = peers.ours[.socket] {
            let made = try SocketPlace()
            let _: Void = try await peer.bench.welcome(made.path)
            samplers.append {
                try await Task.detached { try await Peer.connections(to: made.path, count: count) }.value
            }
            place = made
        }
        defer { withExtendedLifetime(place) {} }
        let results = try await interleaved(rounds: options.rounds, samplers)
        guard let floor = results.first else { return }
        if options.isFloorOnly { printFloor(.connect, .socket, cores, "connections_per_s", floor) }
        for result in results.dropFirst() {
            report.add(
                Line(
                    work: .connect, transport: .socket, api: .task, cores: cores, metric: "connections_per_s",
                    value: result, floor: floor.median
                ))
        }
    }

    private func measureJobs(_ count: Int, _ cores: Cores) async throws {
        let jobs = Jobs()
        var samplers: [() async throws -> Double] = [{ try jobs.floor(count: count) }]
        var workers: [Peer] = []
        if !options.isFloorOnly {
            for _ in 0..<3 { workers.append(try await Peer.launch(executable, over: .socket)) }
            let workers = workers
            samplers.append { try await Task.detached { try await jobs.sample(workers, count: count) }.value }
        }
        let results = try await interleaved(rounds: options.rounds, samplers)
        for worker in workers { await worker.connection.close() }
        guard let floor = results.first else { return }
        if options.isFloorOnly { printFloor(.jobs3, .socket, cores, "jobs_per_s", floor) }
        for result in results.dropFirst() {
            report.add(
                Line(
                    work: .jobs3, transport: .socket, api: .task, cores: cores, metric: "jobs_per_s", value: result,
                    floor: floor.median
                ))
        }
    }

    private func measureIdle(_ count: Int) async throws {
        guard !options.isFloorOnly else { return }
        let peer = try await Peer.launch(executable, over: .socket)
        let bytes = try await IdleConnections(peer: peer).bytesEach(count: count)
        report.add(
            Line(
                work: .idleConnection, transport: .socket, api: .task, cores: .free, metric: "bytes",
                value: Figure([bytes]),
                floor: nil
            ))
        await peer.connection.close()
    }

    private func measureStartup(_ count: Int, _ cores: Cores) async throws {
        let executable = executable
        var samplers: [() async throws -> Double] = [{ try Floor.startup(executable: executable, count: count) }]
        if !options.isFloorOnly {
            samplers.append {
                var times: [UInt64] = []
                for _ in 0..<count {
                    let start = floorNow()
                    let peer = try await Peer.launch(executable, over: .socket)
                    let _: Int64 = try await peer.bench.null(1)
                    times.append(floorNow() - start)
                    await peer.connection.close()
                }
                return medianMicroseconds(times)
            }
        }
        let results = try await interleaved(rounds: options.rounds, samplers)
        guard let floor = results.first else { return }
        if options.isFloorOnly { printFloor(.startup, .socket, cores, "p50_us", floor) }
        for result in results.dropFirst() {
            report.add(
                Line(
                    work: .startup, transport: .socket, api: .task, cores: cores, metric: "p50_us", value: result,
                    floor: floor.median
                ))
        }
    }
}
