// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Tests are not optimised in a release build either: the compiler would need several times as long for them as for all they test.
// In a debug build one compiler takes many files at a time, as each has to read the declarations of all others.
let testSettings =
    settings + [
        .unsafeFlags(["-Onone"], .when(configuration: .release)),
        .unsafeFlags(["-driver-batch-size-limit", "1000"], .when(configuration: .debug)),
    ]

// Apple's systems have coders of their own for Foundation's classes.
#if canImport(Darwin)
    let foundationCoding: [Target.Dependency] = []
#else
    let foundationCoding: [Target.Dependency] = ["FoundationCoding"]
#endif

let package = Package(
    name: "DistantObjects",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "DistantObjects", targets: ["DistantObjects"]),
        .library(name: "DistantTesting", targets: ["DistantTesting"]),
        .library(name: "KeyedArchive", targets: ["KeyedArchive"]),
        .executable(name: "distant", targets: ["distant"]),
    ],
    targets: [
        .target(name: "CPortShims"),
        .target(name: "KeyedArchive", swiftSettings: settings),
        .target(name: "PortTransport", dependencies: ["CPortShims"], swiftSettings: settings),
        .target(
            name: "DistantObjects",
            dependencies: ["KeyedArchive", "PortTransport", "CPortShims"],
            swiftSettings: settings
        ),
        .target(
            name: "DistantTesting", dependencies: ["DistantObjects", "PortTransport"], swiftSettings: settings),
        .executableTarget(name: "distant", dependencies: ["KeyedArchive", "DistantObjects"], swiftSettings: settings),
        .target(name: "ExampleConsole", path: "Examples/Console", swiftSettings: settings),
        .target(
            name: "FooBar", dependencies: ["DistantObjects", "KeyedArchive"], path: "Examples/FooBar",
            swiftSettings: settings),
        .executableTarget(
            name: "FooBarServer", dependencies: ["FooBar", "DistantObjects", "ExampleConsole"],
            path: "Examples/FooBarServer", swiftSettings: settings),
        // The client launches the server, so building one builds both.
        .executableTarget(
            name: "FooBarClient", dependencies: ["FooBar", "DistantObjects", "ExampleConsole", "FooBarServer"],
            path: "Examples/FooBarClient", swiftSettings: settings),
        .executableTarget(
            name: "AppState", dependencies: ["FooBar", "KeyedArchive", "ExampleConsole"], path: "Examples/AppState",
            swiftSettings: settings),
        .executableTarget(
            name: "ItemStore", dependencies: ["KeyedArchive", "ExampleConsole"], path: "Examples/ItemStore",
            swiftSettings: settings),
        .executableTarget(
            name: "Settings", dependencies: ["KeyedArchive", "ExampleConsole"], path: "Examples/Settings",
            swiftSettings: settings),
        .target(
            name: "WordCountValues", dependencies: ["DistantObjects"], path: "Examples/WordCountValues",
            swiftSettings: settings),
        .executableTarget(
            name: "wordcount-worker", dependencies: ["DistantObjects", "WordCountValues"],
            path: "Examples/WordCountWorker", swiftSettings: settings),
        .executableTarget(
            name: "wordcount", dependencies: ["wordcount-worker", "DistantObjects", "WordCountValues"],
            path: "Examples/WordCountTool", swiftSettings: settings),
        .target(
            name: "WorkerPoolValues", dependencies: ["DistantObjects"], path: "Examples/WorkerPoolValues",
            swiftSettings: settings),
        .executableTarget(
            name: "workerpool-worker", dependencies: ["DistantObjects", "WorkerPoolValues", "ExampleConsole"],
            path: "Examples/WorkerPoolWorker", swiftSettings: settings),
        .executableTarget(
            name: "WorkerPool",
            dependencies: ["workerpool-worker", "DistantObjects", "WorkerPoolValues", "ExampleConsole"],
            path: "Examples/WorkerPool", swiftSettings: settings),
        .target(
            name: "SyntaxServiceValues", dependencies: ["DistantObjects"], path: "Examples/SyntaxServiceValues",
            swiftSettings: settings),
        .executableTarget(
            name: "syntax-helper", dependencies: ["DistantObjects", "SyntaxServiceValues", "ExampleConsole"],
            path: "Examples/SyntaxServiceHelper", swiftSettings: settings),
        .executableTarget(
            name: "SyntaxService",
            dependencies: ["syntax-helper", "DistantObjects", "SyntaxServiceValues", "ExampleConsole"],
            path: "Examples/SyntaxService", swiftSettings: settings),
        .target(
            name: "WhiteboardValues", dependencies: ["DistantObjects"], path: "Examples/WhiteboardValues",
            swiftSettings: settings),
        .executableTarget(
            name: "whiteboard-server", dependencies: ["DistantObjects", "WhiteboardValues", "ExampleConsole"],
            path: "Examples/WhiteboardServer", swiftSettings: settings),
        .executableTarget(
            name: "whiteboard-client", dependencies: ["DistantObjects", "WhiteboardValues", "ExampleConsole"],
            path: "Examples/WhiteboardClient", swiftSettings: settings),
        .executableTarget(
            name: "Whiteboard",
            dependencies: [
                "whiteboard-server", "whiteboard-client", "DistantObjects", "WhiteboardValues", "ExampleConsole",
            ], path: "Examples/Whiteboard", swiftSettings: settings),
        // The workers of the guide for programs that speak JSON: before, after, and on the way.
        .target(
            name: "Formatting", dependencies: ["DistantObjects"], path: "Examples/Formatting", swiftSettings: settings),
        .executableTarget(
            name: "formatter-json", dependencies: ["Formatting"], path: "Examples/FormatterJSON",
            swiftSettings: settings),
        .executableTarget(
            name: "formatter-worker", dependencies: ["DistantObjects", "Formatting"], path: "Examples/FormatterWorker",
            swiftSettings: settings),
        .executableTarget(
            name: "formatter-both", dependencies: ["DistantObjects", "Formatting"], path: "Examples/FormatterBoth",
            swiftSettings: settings),
        .executableTarget(
            name: "main-actor-helper", dependencies: ["DistantObjects", "KeyedArchive"],
            path: "Examples/MainActorHelper", swiftSettings: settings + [.defaultIsolation(MainActor.self)]),
        .executableTarget(name: "release-model", path: "Tests/Model", swiftSettings: settings),
        .executableTarget(name: "foundation-reader", path: "Tests/FoundationReader", swiftSettings: settings),
        .executableTarget(
            name: "killed-peer", dependencies: ["DistantObjects"], path: "Tests/KilledPeer", swiftSettings: settings),
        .target(name: "CShortIO", path: "Tests/CShortIO"),
        .target(name: "CTerminal", path: "Tests/CTerminal"),
        .executableTarget(
            name: "torture", dependencies: ["CShortIO", "DistantObjects", "KeyedArchive", "PortTransport"],
            path: "Tests/Torture", exclude: ["faults.py"], swiftSettings: settings),
        .executableTarget(
            name: "soak", dependencies: ["DistantObjects", "PortTransport"], path: "Tests/Soak", swiftSettings: settings
        ),
        .target(name: "CAllocationCount", path: "Tests/CAllocationCount"),
        .executableTarget(
            name: "allocation-count",
            dependencies: ["CAllocationCount", "DistantObjects", "FooBar", "KeyedArchive"],
            path: "Tests/AllocationCount", swiftSettings: settings),
        .executableTarget(
            name: "instruction-count", dependencies: ["DistantObjects", "FooBar", "KeyedArchive", "PortTransport"],
            path: "Tests/InstructionCount", swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["KeyedArchive", "DistantObjects"], path: "Tests/TestSupport",
            swiftSettings: settings),
        .target(
            name: "ArchiveFixtures", dependencies: ["KeyedArchive", "PortTransport"] + foundationCoding,
            path: "Tests/ArchiveFixtures", swiftSettings: settings),
        .testTarget(
            name: "KeyedArchiveTests",
            dependencies: ["KeyedArchive", "PortTransport", "foundation-reader", "ArchiveFixtures", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "PortTransportTests", dependencies: ["PortTransport", "CPortShims", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "DistantObjectsTests",
            dependencies: [
                "DistantObjects", "DistantTesting", "KeyedArchive", "PortTransport", "CPortShims", "CTerminal",
                "FooBarServer", "killed-peer", "TestSupport",
            ],
            exclude: [
                "Recordings/before-descriptions.frames", "Recordings/interfaces.frames",
                "Recordings/promises-and-streams.frames",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "CostTests", dependencies: ["allocation-count", "TestSupport"], swiftSettings: testSettings),
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "FooBarClient", "FooBarServer", "wordcount", "WorkerPool", "SyntaxService", "Whiteboard", "AppState",
                "ItemStore", "Settings", "distant", "main-actor-helper", "formatter-json", "formatter-worker",
                "formatter-both", "Formatting",
                "FooBar", "DistantObjects", "foundation-reader", "KeyedArchive", "PortTransport",
                "CPortShims", "ArchiveFixtures", "TestSupport", "WordCountValues", "DistantTesting", "WorkerPoolValues",
                "SyntaxServiceValues",
            ] + foundationCoding,
            swiftSettings: testSettings),
    ],
    swiftLanguageModes: [.v6]
)

#if !canImport(Darwin)
    // Apple's systems have coders of their own for these classes, and other methods to override.
    package.products.append(.library(name: "FoundationCoding", targets: ["FoundationCoding"]))
    package.targets += [
        .target(name: "FoundationCoding", dependencies: ["KeyedArchive"], swiftSettings: settings),
        .testTarget(
            name: "FoundationCodingTests",
            dependencies: [
                "FoundationCoding", "KeyedArchive", "DistantObjects", "PortTransport", "ArchiveFixtures", "TestSupport",
            ],
            swiftSettings: testSettings),
    ]
#endif

// A build for one sanitizer may leave out tests that are of no use to it: tests take most of the time of a build.
if let wanted = Context.environment["DISTANT_TEST_TARGETS"]?.split(separator: " ") {
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name[...]) }
}
