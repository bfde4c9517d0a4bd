def pytest_addoption(parser):
    parser.addoption("--reference", help="the program optim_reference, as built")
