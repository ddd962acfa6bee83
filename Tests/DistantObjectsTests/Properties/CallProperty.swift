import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

/// The properties that a call has, whatever the path to its object is.
enum CallProperty: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case values, timeOut, configuredTimeOut, cancellation, oneWay, errors, refusals, availability
    case caller, context, metadata
    case messageLimit, runningLimit
    case streams, streamErrors, stoppedStreams, blockingStreams
    case promises, failedPromises, references, callbacks, foreignReferences
    case order, objectsApart, blocking, blockingInTasks, sharedBytes, progress, tailCalls
    case lostObject, onEnd, release

    var testDescription: String { rawValue }

    var check: @Sendable (CallPath) async throws -> Void {
        switch self {
        case .values: Self.values
        case .timeOut: Self.timeOut
        case .configuredTimeOut: Self.configuredTimeOut
        case .cancellation: Self.cancellation
        case .oneWay: Self.oneWay
        case .errors: Self.errors
        case .refusals: Self.refusals
        case .availability: Self.availability
        case .caller: Self.caller
        case .context: Self.context
        case .metadata: Self.metadata
        case .messageLimit: Self.messageLimit
        case .runningLimit: Self.runningLimit
        case .streams: Self.streams
        case .streamErrors: Self.streamErrors
        case .stoppedStreams: Self.stoppedStreams
        case .blockingStreams: Self.blockingStreams
        case .promises: Self.promises
        case .failedPromises: Self.failedPromises
        case .references: Self.references
        case .callbacks: Self.callbacks
        case .foreignReferences: Self.foreignReferences
        case .order: Self.order
        case .objectsApart: Self.objectsApart
        case .blocking: Self.blocking
        case .blockingInTasks: Self.blockingInTasks
        case .sharedBytes: Self.sharedBytes
        case .progress: Self.progress
        case .tailCalls: Self.tailCalls
        case .lostObject: Self.lostObject
        case .onEnd: Self.onEnd
        case .release: Self.release
        }
    }
}

@Suite("The properties of a call", .bounded())
struct CallPropertyTests {
    @Test("A call has each property on each path", arguments: CallPath.allCases, CallProperty.allCases)
    func tableInCallProperty(path: CallPath, property: CallProperty) async throws { try await property.check(path) }
}

// MARK: One call

extension CallProperty {
    static func values(_ path: CallPath) async throws {
        let ends = try await path.ends()
        #expect(try await ends.remote.echo(1) == 1)
        let foo = Foo(name: "Juliana", age: 7)
        let back = try await ends.remote.foo(foo)
        #expect(back.name == "Juliana" && back !== foo)
        #expect(ends.office.brought.withLock { $0 !== foo && $0 !== back && $0?.age == 7 })
        let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try await ends.remote.bytes(large) == large)
    }

    static func timeOut(_ path: CallPath) async throws {
        let ends = try await path.ends()
        await expectCode(.deadlineExceeded) { _ = try await ends.remote.hold(timeout: .milliseconds(20)) }
        // On a busy machine the method may not have started.
        if ends.office.started.count > 0 { await ends.office.stopped.wait() }
        #expect(try await ends.remote.echo(2) == 2)
    }

    static func configuredTimeOut(_ path: CallPath) async throws {
        var configuration = Connection.Configuration.patient
        configuration.callTimeout = .milliseconds(20)
        let ends = try await path.ends(configuration)
        await expectCode(.deadlineExceeded) { _ = try await ends.remote.hold() }
    }

    static func cancellation(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let call = Task { try await ends.remote.hold() }
        await ends.office.started.wait()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await ends.office.stopped.wait()
    }

    static func oneWay(_ path: CallPath) async throws {
        let failures = Mutex<[String]>([])
        let failed = Signal()
        var configuration = Connection.Configuration.patient
        configuration.onEvent = { event in
            guard event.code == .oneWayFailed else { return }
            failures.withLock { $0.append("\(event)") }
            failed.send()
        }
        let ends = try await path.ends(configuration)
        // It returns although the method does not.
        try await ends.remote.block.oneWay()
        await ends.office.started.wait()
        #expect(try ends.remote.log.offer(1))
        ends.office.gate.signal()
        try await ends.remote.fail.oneWay(0)
        await failed.wait()
        #expect(failures.withLock { $0.count == 1 && $0[0].contains("fail") }, "\(failures.withLock { $0 })")
        #expect(try await ends.remote.logged() == [1])
    }

    static func errors(_ path: CallPath) async throws {
        let ends = try await path.ends()
        await #expect(throws: NotFound(name: "it")) { try await ends.remote.fail(0) }
        var names: [String] = []
        for kind in 1...3 {
            let error = await #expect(throws: RemoteError.self) { try await ends.remote.fail(kind) }
            names.append(error?.typeName ?? "")
            #expect(error?.message.contains("home") == false)
        }
        #expect(names == ["Unlisted", "Secret", "ConnectionError"])
        await expectCode(.cancelled) { try await ends.remote.fail(4) }
    }

    static func refusals(_ path: CallPath) async throws {
        let ends = try await path.ends()
        await expectCode(.noSuchMessage) { try await ends.remote.object.nothing() }
        await expectCode(.wrongArgument) { try await ends.remote.object.echo("x") }
        await expectCode(.wrongArgument) { try await ends.remote.object.echo(1, 2) }
        await expectCode(.wrongResult) { let _: String = try await ends.remote.object.echo(1) }
    }

    static func availability(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let newer = try Remote<NewerOfficeInterface>(ends.remote.object)
        #expect(!newer.missing.isAvailable && newer.echo.isAvailable)
        await expectCode(.notAvailable) { try await newer.missing() }
        #expect(DistantObject.classDescription(of: ends.remote.object)?.name == "Office")
    }

    // MARK: What a method knows

    static func caller(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let pid = path == .pipes || path == .memory ? nil : ProcessIdentifier.current
        #expect(try await ends.remote.caller() == Caller(isKnown: true, pid: pid))
    }

    static func context(_ path: CallPath) async throws {
        let ends = try await path.ends()
        #expect(try await ends.remote.timeLeft() == nil)
        let left = try await ends.remote.timeLeft(timeout: .seconds(10_000))
        #expect((1...10_000).contains(left ?? 0))
    }

    static func metadata(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let seen = try await CallContext.with(metadata: ["trace": "1"]) { try await ends.remote.metadata() }
        #expect(seen == ["trace": "1"])
        #expect(try await ends.remote.metadata() == [:])
    }

    // MARK: Limits

    static func messageLimit(_ path: CallPath) async throws {
        var object = Connection.Configuration.patient
        object.limits.message = 1 << 20
        let ends = try await path.ends(object: object)
        await expectCode(.tooLarge) { _ = try await ends.remote.bytes([UInt8](repeating: 1, count: 2 << 20)) }
        #expect(try await ends.remote.echo(3) == 3)
    }

    static func runningLimit(_ path: CallPath) async throws {
        var object = Connection.Configuration.patient
        object.limits.runningCalls = 2
        let ends = try await path.ends(object: object)
        let calls = (0..<2).map { _ in Task { try await ends.remote.hold() } }
        await ends.office.started.wait(for: 2)
        await expectCode(.overloaded) { _ = try await ends.remote.hold() }
        for call in calls { call.cancel() }
        await ends.office.stopped.wait(for: 2)
    }
}
