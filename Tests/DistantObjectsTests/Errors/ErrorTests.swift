import DistantObjects
import TestSupport
import Testing

/// An object whose methods call another connection and fail.
private final class Middle: Vendable {
    static var messages: MessageTable<Middle> {
        Message("fails", Middle.fails)
        Message("failsLater", Middle.failsLater)
        Message("takes", Middle.takes)
        Message("itself", Middle.itself)
        Message("nothing", Middle.nothing)
    }

    func fails(_ code: String) throws -> Int {
        throw ConnectionError(.init(rawValue: code), "the archive is not to be reached", context: "onward")
    }

    @concurrent func failsLater(_ code: String) async throws -> Int { try fails(code) }

    func takes(_ other: Middle) -> Int { 1 }

    func itself() -> Middle { self }

    func nothing() {}
}

@Suite("Errors identify the call they are about", .bounded())
struct ErrorTests {
    @Test(
        "A connection error that a method throws is not reported as an error of the caller's connection",
        arguments: ["fails", "failsLater"])
    func onward(message: String) async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        server.vend(Middle())
        let root = try await client.root
        for code in [ConnectionError.Code.notSent, .closed, .noSuchMessage, .cancelled] {
            let error = await #expect(throws: RemoteError.self) {
                let _: Int = try await root.message(message)(code.rawValue)
            }
            #expect(error?.typeName == "ConnectionError" && error?.code == code)
            #expect(error?.message.contains("onward: the archive is not to be reached") == true, "\(error as Any)")
            #expect(!client.isEnded)
        }
        await client.close()
    }

    @Test("A one-way message whose method throws a connection error is reported as the method's failure")
    func onwardOneWay() async throws {
        let (reported, here) = (Signal(), Signal())
        var (first, second) = (Connection.Configuration.patient, Connection.Configuration.patient)
        first.onEvent = { event in
            let code = (event.error as? ConnectionError)?.code
            if event.code == .oneWayFailed, code == .methodFailed { reported.send() }
        }
        second.onEvent = { event in
            let code = (event.error as? ConnectionError)?.code
            if event.code == .oneWayFailedHere, code == .notSent { here.send() }
        }
        let (client, server) = try await Connection.pair(first: first, second: second)
        server.vend(Middle())
        try await client.root.fails.oneWay(ConnectionError.Code.notSent.rawValue)
        await reported.wait()
        await here.wait()
        await client.close()
    }

    @Test("A proxy passed for a local object, and the reverse, is named in the error")
    func referencesInError() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        server.vend(Middle())
        let root = try await client.root
        await expectSentence(.wrongArgument, "DistantObject") { let _: Int = try await root.takes(Middle()) }
        await expectSentence(.wrongResult, "DistantObject") { let _: Middle = try await root.itself() }
        await expectSentence(.wrongResult, "no result") { let _: Int = try await root.nothing() }
        await expectSentence(.wrongArgument, "1 argument was given") { try await root.nothing(1) }
        let (other, its) = try await Connection.pair(first: .patient, second: .patient)
        its.vend(Middle())
        let foreign = try await other.root
        await expectSentence(.foreignReference, "another connection") { let _: Int = try await root.takes(foreign) }
        await other.close()
        await client.close()
    }

    @Test("A deadline that passes and a connection that has ended name the message")
    func context() async throws {
        let pair = try await Pair()
        let root = try await pair.client.root
        let late = await #expect(throws: ConnectionError.self) {
            let _: Int = try await root.message("wait")(timeout: .milliseconds(20))
        }
        #expect(late?.code == .deadlineExceeded && late?.context?.contains("wait") == true, "\(late as Any)")
        await pair.close()
        let ended = await #expect(throws: ConnectionError.self) { let _: Int = try await root.echo(1) }
        #expect(ended?.code == .closed && ended?.context == "echo over client", "\(ended as Any)")
    }

    @Test("A look-up of a root that is not vended yet ends with its deadline")
    func rootDeadline() async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let accepted = Task {
            for await connection in listener { return connection as Connection? }; return nil
        }
        let connection = try await Connection.open(.path(place.socket), configuration: .patient)
        await expectCode(.deadlineExceeded) { _ = try await connection.root(named: "", timeout: .milliseconds(20)) }
        connection.invalidate()
        _ = await accepted.value?.ended
        listener.close()
    }

    @Test("If a launched program exits or prints before it connects, the error says so")
    func launchedInError() async throws {
        await expectSentence(.closed, "ended with status 3") {
            while true {
                do {
                    _ = try await Connection.launch("/bin/sh", arguments: ["-c", "exit 3"], configuration: .patient)
                    return
                } catch let error as ConnectionError where error.code == .closed && !error.message.contains("program") {
                    // The library waits half a second for the status. On a busy machine that takes longer.
                }
            }
        }
        await expectSentence(.protocolViolation, "before it prints") {
            _ = try await Connection.launch(
                "/bin/sh", arguments: ["-c", "echo Hello, world; exec sleep 1000"], over: .pipes,
                configuration: .patient)
        }
        await expectSentence(.protocolViolation, "both sides greet first") {
            _ = try await Connection.launch("/bin/cat", over: .pipes, configuration: .patient)
        }
    }

    private func expectSentence(
        _ code: ConnectionError.Code, _ words: String, _ body: () async throws -> Void,
        location: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: ConnectionError.self, sourceLocation: location) { try await body() }
        #expect(error?.code == code, "\(error as Any)", sourceLocation: location)
        #expect("\(error as Any)".contains(words), "\(error as Any)", sourceLocation: location)
    }
}
