// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "DistantBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "DistantObjects", path: "../..")
    ],
    targets: [
        .target(name: "CFloor"),
        .executableTarget(
            name: "distant-bench",
            // The second is used through the first, but only what is named here is known to be: without it a change of
            // the second would not compile this again.
            dependencies: [
                "CFloor", .product(name: "DistantObjects", package: "DistantObjects"),
                .product(name: "KeyedArchive", package: "DistantObjects"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ],
            // As tools for Linux are linked. The libraries are those that Foundation needs and does not name.
            linkerSettings: [
                .unsafeFlags(
                    [
                        "-static-stdlib", "-lFoundationInternationalization", "-lFoundationEssentials",
                        "-lCoreFoundation", "-l_FoundationICU", "-l_FoundationCollections", "-l_FoundationCShims",
                    ], .when(platforms: [.linux]))
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
